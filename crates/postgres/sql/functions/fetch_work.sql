-- Leases one activity for each slot, in order. `s_owner` is null for a slot that takes no sessions;
-- `p_routes` is null for a worker that takes every tag, `p_code` for one that takes every name; it
-- is sorted. The last row has no slot: it carries the
-- server's time and the time of the next poll, which is now if it stopped before it had checked
-- everything. Without slots it warms up: its statements run on no rows, which makes their plans.
-- If nodes of the caller's process may hold leases, it sets `p_asks`. A call that meets expired
-- leases then returns them in the last row and does nothing else. The caller repeats it with those
-- that its nodes hold, `h_`, which are extended, and with the others, `p_free`, which are claimed.
-- An activity whose expired lease another fetch has released still has its token: the same holds.
CREATE OR REPLACE FUNCTION {schema}.fetch_work{v}(
    p_now BIGINT, p_lock_for BIGINT, p_routes TEXT[], p_code TEXT[], s_owner TEXT[],
    s_lock_for BIGINT[], p_asks BOOLEAN,
    -- Null if all expired leases may be claimed.
    p_free UUID[],
    h_id BIGINT[],
    h_token UUID[]
) RETURNS TABLE (
    o_slot INTEGER, o_id BIGINT, o_token UUID, o_item TEXT, o_attempts INTEGER, o_instance TEXT,
    o_execution BIGINT, o_activity BIGINT, o_session TEXT, o_claimed BOOLEAN, o_due BIGINT,
    o_progress TEXT, o_overdue BIGINT, o_now BIGINT, o_expired_ids BIGINT[],
    o_expired_tokens UUID[]
)
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_sort = off
AS $body$
DECLARE
    v_now BIGINT := coalesce(p_now, {schema}.now_ms());
    v_routes TEXT[] := p_routes;
    -- With the routes: what is ready of that which the worker may claim.
    v_code TEXT[];
    v_slots INTEGER := cardinality(s_owner);
    v_ids BIGINT[] := '{}';
    v_free UUID[] := CASE WHEN p_asks THEN '{}' ELSE p_free END;
    v_places INTEGER[] := '{}';
    v_claims BOOLEAN[] := '{}';
    v_due BIGINT;
BEGIN
    IF p_free IS NOT NULL THEN
        PERFORM {schema}.extend_work{v}(v_now, p_lock_for, h_id, h_token);
        -- Others may have expired since the caller asked.
        v_due := v_now + 1000;
    END IF;
    -- Each part is one probe of an index.
    IF EXISTS (SELECT 1 FROM {schema}.worker_queue q WHERE q.locked_until <= v_now)
        OR EXISTS (
            SELECT 1 FROM {schema}.worker_queue q
            WHERE q.visible_at > 0 AND q.visible_at <= v_now)
        OR EXISTS (
            SELECT 1 FROM {schema}.sessions s WHERE NOT s.expired AND s.locked_until <= v_now)
    THEN
        IF p_asks THEN
            SELECT array_agg(e.id), array_agg(e.lock_token) INTO o_expired_ids, o_expired_tokens
            FROM (
                SELECT q.id, q.lock_token FROM {schema}.worker_queue q
                WHERE q.locked_until <= v_now ORDER BY q.locked_until LIMIT 512) AS e;
            IF o_expired_ids IS NOT NULL THEN
                o_now := v_now;
                RETURN NEXT;
                RETURN;
            END IF;
        END IF;
        IF {schema}.release_due_work{v}(v_now, v_free) THEN
            v_due := v_now;
        END IF;
    END IF;
    IF v_routes IS NULL THEN
        v_routes := {schema}.ready_routes{v}();
    END IF;
    IF p_code IS NOT NULL THEN
        SELECT r.o_routes, r.o_code, least(v_due, v_now + r.o_wait) INTO v_routes, v_code, v_due
        FROM {schema}.ready_code{v}(v_routes, p_code) AS r;
    END IF;
    IF EXISTS (SELECT 1 FROM {schema}.worker_queue q WHERE q.session_id IS NOT NULL) THEN
        SELECT c.o_ids, c.o_places, c.o_claims, least(v_due, c.o_due), c.o_expired_ids,
            c.o_expired_tokens
        INTO v_ids, v_places, v_claims, v_due, o_expired_ids, o_expired_tokens
        FROM {schema}.choose_session_work{v}(
            v_now, v_routes, v_code, s_owner, s_lock_for, p_asks, v_free) AS c;
    ELSIF v_code IS NULL AND cardinality(v_routes) = 1 THEN
        SELECT coalesce(array_agg(c.id ORDER BY c.id) FILTER (WHERE c.is_free), '{}'),
            array_agg(c.id) FILTER (WHERE NOT c.is_free),
            array_agg(c.lock_token) FILTER (WHERE NOT c.is_free)
        INTO v_ids, o_expired_ids, o_expired_tokens FROM (
            SELECT q.id, q.lock_token, v_free IS NULL OR q.lock_token IS NULL
                OR q.lock_token = ANY (v_free) AS is_free
            FROM {schema}.worker_queue q
            WHERE q.locked_until IS NULL AND q.route = v_routes[1] AND q.lane = 0
            ORDER BY q.id LIMIT v_slots FOR UPDATE SKIP LOCKED) AS c;
    ELSIF cardinality(v_routes) = 1 OR v_slots = 0 THEN
        SELECT coalesce(array_agg(c.id ORDER BY c.id) FILTER (WHERE c.is_free), '{}'),
            array_agg(c.id) FILTER (WHERE NOT c.is_free),
            array_agg(c.lock_token) FILTER (WHERE NOT c.is_free)
        INTO v_ids, o_expired_ids, o_expired_tokens FROM (
            SELECT q.id, q.lock_token, v_free IS NULL OR q.lock_token IS NULL
                OR q.lock_token = ANY (v_free) AS is_free
            FROM {schema}.worker_queue q
            WHERE q.locked_until IS NULL AND q.route = v_routes[1] AND q.code = v_code[1]
                AND q.lane = 0
            ORDER BY q.id LIMIT v_slots FOR UPDATE SKIP LOCKED) AS c;
    ELSIF cardinality(v_routes) > 1 THEN
        SELECT c.o_ids, c.o_expired_ids, c.o_expired_tokens
        INTO v_ids, o_expired_ids, o_expired_tokens
        FROM {schema}.choose_plain_work{v}(v_routes, v_code, v_slots, v_free) AS c;
    END IF;
    IF p_asks AND o_expired_ids IS NOT NULL THEN
        o_now := v_now;
        RETURN NEXT;
        RETURN;
    END IF;
    IF cardinality(v_ids) > 0 OR v_slots = 0 THEN
        -- A lease need not survive a crash of the server: its holder fetches again.
        PERFORM set_config('synchronous_commit', 'off', TRUE);
        RETURN QUERY
        UPDATE {schema}.worker_queue q SET lock_token = gen_random_uuid(),
            locked_until = v_now + p_lock_for, timed_at = v_now,
            attempt_count = q.attempt_count + 1,
            -- The lease counts as the start, unless the limit has passed.
            start_by = CASE WHEN NOT q.starting THEN q.start_by END,
            starting = coalesce(NOT q.starting AND q.start_by > v_now, FALSE)
        FROM unnest(v_ids) WITH ORDINALITY AS t (id, place)
        WHERE q.id = t.id
        RETURNING coalesce(v_places[t.place], t.place::INTEGER) - 1, q.id, q.lock_token,
            q.work_item, q.attempt_count, q.instance_id, q.execution_id, q.activity_id,
            q.session_id, coalesce(v_claims[t.place], FALSE), NULL::BIGINT, q.progress,
            CASE WHEN NOT q.starting THEN q.start_by - q.created_at END, NULL::BIGINT,
            NULL::BIGINT[], NULL::UUID[];
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
    o_expired_ids := NULL;
    o_expired_tokens := NULL;
    RETURN NEXT;
END
$body$;
