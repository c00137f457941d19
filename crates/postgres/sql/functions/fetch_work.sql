-- Leases one activity for each slot, in order. `s_owner` is null for a slot that takes no sessions;
-- `p_routes` is null for a worker that takes every tag. The last row has no slot: it carries the
-- server's time and the time of the next poll, which is now if it stopped before it had checked
-- everything. Without slots it warms up: its statements run on no
-- rows, which makes their plans.
CREATE OR REPLACE FUNCTION {schema}.fetch_work{v}(
    p_now BIGINT, p_lock_for BIGINT, p_routes TEXT[], s_owner TEXT[], s_lock_for BIGINT[]
) RETURNS TABLE (
    o_slot INTEGER, o_id BIGINT, o_token UUID, o_item TEXT, o_attempts INTEGER, o_instance TEXT,
    o_execution BIGINT, o_activity BIGINT, o_session TEXT, o_claimed BOOLEAN, o_due BIGINT,
    o_progress TEXT, o_overdue BIGINT, o_now BIGINT
)
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_sort = off
AS $body$
DECLARE
    v_now BIGINT := coalesce(p_now, {schema}.now_ms());
    v_routes TEXT[] := p_routes;
    v_slots INTEGER := cardinality(s_owner);
    v_ids BIGINT[] := '{}';
    v_places INTEGER[] := '{}';
    v_claims BOOLEAN[] := '{}';
    v_due BIGINT;
BEGIN
    -- Each part is one probe of an index.
    IF EXISTS (SELECT 1 FROM {schema}.worker_queue q WHERE q.locked_until <= v_now)
        OR EXISTS (
            SELECT 1 FROM {schema}.worker_queue q
            WHERE q.visible_at > 0 AND q.visible_at <= v_now)
        OR EXISTS (
            SELECT 1 FROM {schema}.sessions s WHERE NOT s.expired AND s.locked_until <= v_now)
    THEN
        IF {schema}.release_due_work{v}(v_now) THEN
            v_due := v_now;
        END IF;
    END IF;
    IF v_routes IS NULL THEN
        v_routes := {schema}.ready_routes{v}();
    END IF;
    IF EXISTS (SELECT 1 FROM {schema}.worker_queue q WHERE q.session_id IS NOT NULL) THEN
        SELECT c.o_ids, c.o_places, c.o_claims, least(v_due, c.o_due)
        INTO v_ids, v_places, v_claims, v_due
        FROM {schema}.choose_session_work{v}(v_now, v_routes, s_owner, s_lock_for) AS c;
    ELSIF cardinality(v_routes) = 1 THEN
        SELECT coalesce(array_agg(c.id ORDER BY c.id), '{}') INTO v_ids FROM (
            SELECT q.id FROM {schema}.worker_queue q
            WHERE q.locked_until IS NULL AND q.route = v_routes[1] AND q.lane = 0
            ORDER BY q.id LIMIT v_slots FOR UPDATE SKIP LOCKED) AS c;
    ELSE
        v_ids := {schema}.choose_plain_work{v}(v_routes, v_slots);
    END IF;
    IF cardinality(v_ids) > 0 OR v_slots = 0 THEN
        -- A lease need not survive a crash of the server: its holder fetches again.
        PERFORM set_config('synchronous_commit', 'off', TRUE);
        RETURN QUERY
        UPDATE {schema}.worker_queue q SET lock_token = gen_random_uuid(),
            locked_until = v_now + p_lock_for, attempt_count = q.attempt_count + 1,
            -- The lease counts as the start, unless the limit has passed.
            start_by = CASE WHEN NOT q.starting THEN q.start_by END,
            starting = coalesce(NOT q.starting AND q.start_by > v_now, FALSE)
        FROM unnest(v_ids) WITH ORDINALITY AS t (id, place)
        WHERE q.id = t.id
        RETURNING coalesce(v_places[t.place], t.place::INTEGER) - 1, q.id, q.lock_token,
            q.work_item, q.attempt_count, q.instance_id, q.execution_id, q.activity_id,
            q.session_id, coalesce(v_claims[t.place], FALSE), NULL::BIGINT, q.progress,
            CASE WHEN NOT q.starting THEN q.start_by - q.created_at END, NULL::BIGINT;
    ELSE
        SELECT least(v_due, min(d.due)) INTO v_due FROM (
            (SELECT q.visible_at AS due FROM {schema}.worker_queue q
             WHERE q.visible_at > 0 AND q.visible_at > v_now ORDER BY q.visible_at LIMIT 1)
            UNION ALL
            (SELECT q.locked_until FROM {schema}.worker_queue q
             WHERE q.locked_until IS NOT NULL AND q.locked_until > v_now
             ORDER BY q.locked_until LIMIT 1)
            UNION ALL
            (SELECT s.locked_until FROM {schema}.sessions s
             WHERE NOT s.expired AND s.locked_until > v_now ORDER BY s.locked_until LIMIT 1)
        ) AS d;
    END IF;
    o_slot := NULL;
    o_now := v_now;
    o_due := v_due;
    RETURN NEXT;
END
$body$;
