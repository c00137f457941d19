-- Leases one activity for each slot, in order. `s_owner` is null for a slot that takes no sessions;
-- `p_routes` is null for a worker that takes every tag. The last row has no slot and says the time
-- and when to look again. Without slots it is a rehearsal: its statements are run on nothing, so
-- that their plans are made before they are needed.
CREATE FUNCTION {schema}.fetch_work(
    p_now BIGINT, p_lock_for BIGINT, p_routes TEXT[], s_owner TEXT[], s_lock_for BIGINT[]
) RETURNS TABLE (
    o_slot INTEGER, o_id BIGINT, o_token UUID, o_item TEXT, o_attempts INTEGER, o_instance TEXT,
    o_execution BIGINT, o_activity BIGINT, o_session TEXT, o_claimed BOOLEAN, o_due BIGINT,
    o_progress TEXT, o_overdue BIGINT
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
    v_id BIGINT;
    v_claim BOOLEAN;
    v_due BIGINT;
BEGIN
    IF EXISTS (SELECT 1 FROM {schema}.worker_queue q WHERE q.locked_until <= v_now) THEN
        PERFORM {schema}.release_expired_work(v_now);
    END IF;
    IF v_routes IS NULL THEN
        v_routes := {schema}.waiting_routes();
    END IF;
    IF EXISTS (SELECT 1 FROM {schema}.worker_queue q WHERE q.session_id IS NOT NULL) THEN
        FOR v_slot IN 1..v_slots LOOP
            SELECT w.o_id, w.o_claimed INTO v_id, v_claim FROM {schema}.take_for_slot(
                v_now, v_routes, s_owner[v_slot], s_lock_for[v_slot], v_ids) AS w;
            IF v_id IS NOT NULL THEN
                v_ids := v_ids || v_id;
                v_places := v_places || v_slot;
                v_claims := v_claims || v_claim;
            END IF;
        END LOOP;
    ELSIF cardinality(v_routes) = 1 THEN
        SELECT coalesce(array_agg(c.id ORDER BY c.id), '{}') INTO v_ids FROM (
            SELECT q.id FROM {schema}.worker_queue q
            WHERE q.locked_until IS NULL AND q.route = v_routes[1] AND q.visible_at <= v_now
                AND q.session_id IS NULL
            ORDER BY q.id LIMIT v_slots FOR UPDATE SKIP LOCKED) AS c;
    ELSE
        -- Chosen first and locked then: a row that is locked and not taken would be passed over by
        -- others who had use for it.
        SELECT coalesce(array_agg(c.id ORDER BY c.id), '{}') INTO v_ids FROM (
            SELECT o.id FROM unnest(v_routes) AS r (route)
            CROSS JOIN LATERAL (
                SELECT q.id FROM {schema}.worker_queue q
                WHERE q.locked_until IS NULL AND q.route = r.route AND q.visible_at <= v_now
                    AND q.session_id IS NULL
                ORDER BY q.id LIMIT v_slots) AS o
            ORDER BY o.id LIMIT v_slots) AS c;
        SELECT coalesce(array_agg(c.id ORDER BY c.id), '{}') INTO v_ids FROM (
            SELECT q.id FROM {schema}.worker_queue q
            WHERE q.id = ANY (v_ids) AND q.locked_until IS NULL AND q.visible_at <= v_now
            ORDER BY q.id FOR UPDATE SKIP LOCKED) AS c;
    END IF;
    IF cardinality(v_ids) > 0 OR v_slots = 0 THEN
        -- Leases need not survive a crash of the server: whoever held them asks again.
        PERFORM set_config('synchronous_commit', 'off', TRUE);
        RETURN QUERY
        UPDATE {schema}.worker_queue q SET lock_token = gen_random_uuid(),
            locked_until = v_now + p_lock_for, attempt_count = q.attempt_count + 1,
            -- The lease is the start, unless the limit is over.
            start_by = CASE WHEN NOT q.starting THEN q.start_by END,
            starting = coalesce(NOT q.starting AND q.start_by > v_now, FALSE)
        FROM unnest(v_ids) WITH ORDINALITY AS t (id, place)
        WHERE q.id = t.id
        RETURNING coalesce(v_places[t.place], t.place::INTEGER) - 1, q.id, q.lock_token,
            q.work_item, q.attempt_count, q.instance_id, q.execution_id, q.activity_id,
            q.session_id, coalesce(v_claims[t.place], FALSE), NULL::BIGINT, q.progress,
            CASE WHEN NOT q.starting THEN q.start_by - q.created_at END;
    ELSE
        SELECT min(d.due) INTO v_due FROM (
            (SELECT q.visible_at AS due FROM {schema}.worker_queue q
             WHERE q.visible_at > 0 AND q.visible_at > v_now ORDER BY q.visible_at LIMIT 1)
            UNION ALL
            (SELECT q.locked_until FROM {schema}.worker_queue q
             WHERE q.locked_until IS NOT NULL AND q.locked_until > v_now
             ORDER BY q.locked_until LIMIT 1)
            UNION ALL
            (SELECT s.locked_until FROM {schema}.sessions s
             WHERE s.locked_until > v_now ORDER BY s.locked_until LIMIT 1)
        ) AS d;
    END IF;
    o_slot := NULL;
    o_id := v_now;
    o_due := v_due;
    RETURN NEXT;
END
$body$;

-- Leases activities that nobody started in time, the longest overdue first. The last row says the
-- time and when to look again.
CREATE FUNCTION {schema}.fetch_overdue(p_now BIGINT, p_work_max BIGINT, p_lock_for BIGINT)
RETURNS TABLE (
    o_slot INTEGER, o_id BIGINT, o_token UUID, o_item TEXT, o_attempts INTEGER, o_instance TEXT,
    o_execution BIGINT, o_activity BIGINT, o_session TEXT, o_claimed BOOLEAN, o_due BIGINT,
    o_progress TEXT, o_overdue BIGINT
)
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off
AS $body$
DECLARE
    v_now BIGINT := coalesce(p_now, {schema}.now_ms());
    v_ids BIGINT[];
    v_due BIGINT;
BEGIN
    SELECT array_agg(o.id ORDER BY o.start_by) INTO v_ids FROM (
        SELECT q.id, q.start_by FROM {schema}.worker_queue q
        WHERE q.start_by IS NOT NULL AND NOT q.starting AND q.start_by <= v_now
            AND (q.locked_until IS NULL OR q.locked_until <= v_now)
        ORDER BY q.start_by LIMIT p_work_max FOR UPDATE SKIP LOCKED) AS o;
    IF v_ids IS NOT NULL THEN
        RETURN QUERY
        UPDATE {schema}.worker_queue q SET lock_token = gen_random_uuid(),
            locked_until = v_now + p_lock_for, attempt_count = q.attempt_count + 1
        FROM unnest(v_ids) WITH ORDINALITY AS t (id, place)
        WHERE q.id = t.id
        RETURNING t.place::INTEGER - 1, q.id, q.lock_token, q.work_item, q.attempt_count,
            q.instance_id, q.execution_id, q.activity_id, q.session_id, FALSE, NULL::BIGINT,
            q.progress, q.start_by - q.created_at;
    ELSE
        SELECT min(d.due) INTO v_due FROM (
            SELECT min(q.start_by) AS due FROM {schema}.worker_queue q
            WHERE q.start_by IS NOT NULL AND NOT q.starting AND q.start_by > v_now
            UNION ALL
            SELECT min(q.locked_until) FROM {schema}.worker_queue q
            WHERE q.start_by IS NOT NULL AND NOT q.starting AND q.start_by <= v_now
                AND q.locked_until > v_now
        ) AS d;
    END IF;
    o_slot := NULL;
    o_id := v_now;
    o_due := v_due;
    RETURN NEXT;
END
$body$;

-- Makes activities ready whose lease ran out. The token stays: its holder may still give the
-- activity back, as long as nobody else has taken it.
CREATE FUNCTION {schema}.release_expired_work(p_now BIGINT) RETURNS VOID
LANGUAGE plpgsql AS $body$
BEGIN
    UPDATE {schema}.worker_queue q SET locked_until = NULL
    FROM (
        SELECT w.id FROM {schema}.worker_queue w WHERE w.locked_until <= p_now
        FOR UPDATE SKIP LOCKED) AS expired
    WHERE q.id = expired.id;
END
$body$;

-- The routes that have ready activities, each found by one step into the index.
CREATE FUNCTION {schema}.waiting_routes() RETURNS TEXT[]
LANGUAGE plpgsql AS $body$
DECLARE
    v_routes TEXT[];
BEGIN
    WITH RECURSIVE routes (route) AS (
        (SELECT q.route FROM {schema}.worker_queue q
         WHERE q.locked_until IS NULL ORDER BY q.route LIMIT 1)
        UNION ALL
        SELECT (SELECT q.route FROM {schema}.worker_queue q
                WHERE q.locked_until IS NULL AND q.route > r.route ORDER BY q.route LIMIT 1)
        FROM routes r WHERE r.route IS NOT NULL
    )
    SELECT coalesce(array_agg(r.route), '{}') INTO v_routes FROM routes r
    WHERE r.route IS NOT NULL;
    RETURN v_routes;
END
$body$;

-- The oldest activity that a slot may run, with the lease of its session.
CREATE FUNCTION {schema}.take_for_slot(
    p_now BIGINT, p_routes TEXT[], p_owner TEXT, p_session_lock_for BIGINT, p_taken BIGINT[],
    OUT o_id BIGINT, OUT o_claimed BOOLEAN
)
LANGUAGE plpgsql AS $body$
DECLARE
    v_row RECORD;
    v_held BOOLEAN;
BEGIN
    -- Several are looked at because others may hold the first ones at this moment.
    FOR v_row IN
        SELECT o.id, o.session_id FROM unnest(p_routes) AS r (route)
        CROSS JOIN LATERAL (
            SELECT q.id, q.session_id FROM {schema}.worker_queue q
            WHERE q.locked_until IS NULL AND q.route = r.route AND q.visible_at <= p_now
                AND q.id <> ALL (p_taken)
                AND (q.session_id IS NULL OR (p_owner IS NOT NULL AND (
                    SELECT 1 FROM {schema}.sessions s WHERE s.session_id = q.session_id
                        AND s.locked_until > p_now AND s.worker_id <> p_owner) IS NULL))
            ORDER BY q.id LIMIT 32) AS o
        ORDER BY o.id
    LOOP
        PERFORM 1 FROM {schema}.worker_queue q
        WHERE q.id = v_row.id AND q.locked_until IS NULL FOR UPDATE SKIP LOCKED;
        CONTINUE WHEN NOT FOUND;
        o_id := v_row.id;
        o_claimed := FALSE;
        IF v_row.session_id IS NULL THEN
            RETURN;
        END IF;
        v_held := EXISTS (
            SELECT 1 FROM {schema}.sessions s
            WHERE s.session_id = v_row.session_id AND s.locked_until > p_now);
        -- Whoever claims a session holds its key, so that nobody waits for somebody's claim.
        IF pg_try_advisory_xact_lock({schema}.instance_key('session ' || v_row.session_id)) THEN
            INSERT INTO {schema}.sessions AS s
                (session_id, worker_id, locked_until, last_activity_at)
            VALUES (v_row.session_id, p_owner, p_now + p_session_lock_for, p_now)
            ON CONFLICT (session_id) DO UPDATE SET worker_id = excluded.worker_id,
                locked_until = excluded.locked_until, last_activity_at = excluded.last_activity_at
            WHERE s.locked_until <= p_now OR s.worker_id = p_owner;
            IF FOUND THEN
                o_claimed := NOT v_held;
                RETURN;
            END IF;
        END IF;
    END LOOP;
    o_id := NULL;
END
$body$;

-- Ends activities under live leases and tells their orchestrations. `m_work` counts from one. The
-- answer is the time and which activities were ended. One that is gone was ended by an earlier try
-- whose answer was lost, if there was one.
CREATE FUNCTION {schema}.finish_work(
    p_now BIGINT, f_id BIGINT[], f_token UUID[], f_again BOOLEAN[],
    m_work INTEGER[], m_instance TEXT[], m_item TEXT[], m_kind SMALLINT[],
    OUT o_now BIGINT, OUT o_ended INTEGER[]
)
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $body$
DECLARE
    v_now BIGINT := coalesce(p_now, {schema}.now_ms());
    v_sessions TEXT[];
BEGIN
    o_now := v_now;
    -- The rows are given in order, so that two callers cannot wait for each other.
    WITH ended AS (
        DELETE FROM {schema}.worker_queue q
        USING unnest(f_id, f_token) WITH ORDINALITY AS f (id, token, place)
        WHERE q.id = f.id AND q.lock_token = f.token AND q.locked_until > v_now
        RETURNING f.place::INTEGER, q.session_id
    )
    SELECT coalesce(array_agg(e.place), '{}'),
        array_agg(e.session_id) FILTER (WHERE e.session_id IS NOT NULL)
    INTO o_ended, v_sessions FROM ended e;
    IF v_sessions IS NOT NULL THEN
        PERFORM {schema}.touch_sessions(v_now, v_sessions);
    END IF;
    IF cardinality(o_ended) = cardinality(f_id) THEN
        IF cardinality(m_work) > 0 THEN
            INSERT INTO {schema}.orchestrator_queue
                (instance_id, work_item, visible_at, created_at, kind)
            SELECT m.instance_id, m.item, v_now, v_now, m.kind
            FROM unnest(m_instance, m_item, m_kind) AS m (instance_id, item, kind);
        END IF;
    ELSE
        INSERT INTO {schema}.orchestrator_queue
            (instance_id, work_item, visible_at, created_at, kind)
        SELECT m.instance_id, m.item, v_now, v_now, m.kind
        FROM unnest(m_work, m_instance, m_item, m_kind) AS m (work, instance_id, item, kind)
        WHERE m.work = ANY (o_ended);
        IF TRUE = ANY (f_again) THEN
            SELECT o_ended || coalesce(array_agg(f.place::INTEGER), '{}') INTO o_ended
            FROM unnest(f_id, f_again) WITH ORDINALITY AS f (id, again, place)
            WHERE f.again AND NOT f.place = ANY (o_ended) AND NOT EXISTS (
                SELECT 1 FROM {schema}.worker_queue q WHERE q.id = f.id);
        END IF;
    END IF;
END
$body$;

-- Notes that sessions are in use, while their leases live.
CREATE FUNCTION {schema}.touch_sessions(p_now BIGINT, p_sessions TEXT[]) RETURNS VOID
LANGUAGE plpgsql AS $body$
BEGIN
    UPDATE {schema}.sessions s SET last_activity_at = p_now
    FROM (
        SELECT l.session_id FROM {schema}.sessions l
        WHERE l.session_id = ANY (p_sessions) AND l.locked_until > p_now
        ORDER BY l.session_id FOR UPDATE) AS live
    WHERE s.session_id = live.session_id;
END
$body$;

CREATE FUNCTION {schema}.enqueue_work(
    p_now BIGINT, w_instance TEXT[], w_execution BIGINT[], w_activity BIGINT[], w_session TEXT[],
    w_route TEXT[], w_item TEXT[]
) RETURNS BIGINT
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET jit = off AS $body$
DECLARE
    v_now BIGINT := coalesce(p_now, {schema}.now_ms());
BEGIN
    INSERT INTO {schema}.worker_queue (work_item, created_at, instance_id, execution_id,
        activity_id, session_id, route)
    SELECT w.item, v_now, w.instance_id, w.execution_id, w.activity_id, w.session_id, w.route
    FROM unnest(w_instance, w_execution, w_activity, w_session, w_route, w_item)
        AS w (instance_id, execution_id, activity_id, session_id, route, item);
    RETURN v_now;
END
$body$;

-- Extends the live lease of an activity from now; false if it is lost.
CREATE FUNCTION {schema}.renew_work(
    p_now BIGINT, p_id BIGINT, p_token UUID, p_extend_for BIGINT
) RETURNS BOOLEAN
LANGUAGE plpgsql AS $body$
DECLARE
    v_now BIGINT := coalesce(p_now, {schema}.now_ms());
    v_session TEXT;
BEGIN
    UPDATE {schema}.worker_queue q SET locked_until = v_now + p_extend_for
    WHERE q.id = p_id AND q.lock_token = p_token AND q.locked_until > v_now
    RETURNING q.session_id INTO v_session;
    IF NOT FOUND THEN
        RETURN FALSE;
    END IF;
    IF v_session IS NOT NULL THEN
        PERFORM {schema}.touch_sessions(v_now, ARRAY[v_session]);
    END IF;
    RETURN TRUE;
END
$body$;
