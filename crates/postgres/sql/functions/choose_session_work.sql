-- Locks the oldest ready activities that the slots may run, and claims their sessions. It reads, in
-- the order of age, activities without a session, those of the slots' own sessions, and those of
-- sessions without an owner, and gives each to the first free slot that may run it. Activities of
-- sessions with other owners leave the lane as they are read: their owners find them by the session.
-- `o_due` is when to read again if it stopped before it had read all. `o_expired_ids` are activities
-- with the token of an expired lease that is not in `p_free`, unless that is null. With `p_asks` it
-- chooses nothing behind them, and returns them if it has chosen nothing.
CREATE OR REPLACE FUNCTION {schema}.choose_session_work{v}(
    p_now BIGINT, p_routes TEXT[],
    -- The code of each route; null if the worker has all.
    p_code TEXT[],
    s_owner TEXT[], s_lock_for BIGINT[], p_asks BOOLEAN, p_free UUID[],
    OUT o_ids BIGINT[], OUT o_places INTEGER[], OUT o_claims BOOLEAN[], OUT o_due BIGINT,
    OUT o_expired_ids BIGINT[], OUT o_expired_tokens UUID[]
)
LANGUAGE plpgsql AS $body$
DECLARE
    c_read CONSTANT INTEGER := 64;
    v_slots INTEGER := cardinality(s_owner);
    v_free BOOLEAN[] := array_fill(TRUE, ARRAY[v_slots]);
    -- The owners of free slots.
    v_owners TEXT[] := s_owner;
    -- What this call claimed.
    v_sessions TEXT[] := '{}';
    v_holders TEXT[] := '{}';
    v_foreign BIGINT[] := '{}';
    v_foreign_sessions TEXT[] := '{}';
    v_after BIGINT := 0;
    v_count INTEGER;
    v_holder TEXT;
    v_slot INTEGER;
    v_claim BOOLEAN;
    v_token UUID;
    v_row RECORD;
BEGIN
    o_ids := '{}';
    o_places := '{}';
    o_claims := '{}';
    -- Unless it moves something, what it has read must change first.
    o_due := p_now + 20;
    FOR v_round IN 1..16 LOOP
        v_count := 0;
        FOR v_row IN
            SELECT c.id, c.session_id, h.worker_id AS holder
            FROM (
                SELECT w.id, w.session_id FROM unnest(p_routes) AS r (route)
                CROSS JOIN generate_series(0, 1) AS l (lane)
                CROSS JOIN LATERAL (
                    SELECT q.id, q.session_id FROM {schema}.worker_queue q
                    WHERE q.locked_until IS NULL AND q.route = r.route AND q.lane = l.lane
                        AND q.id > v_after
                    ORDER BY q.id LIMIT c_read) AS w
                WHERE p_code IS NULL
                UNION
                SELECT w.id, w.session_id FROM (
                    SELECT r.route, r.code, l.lane
                    FROM unnest(p_routes, p_code) AS r (route, code)
                    CROSS JOIN generate_series(0, 1) AS l (lane)
                    CROSS JOIN LATERAL (
                        SELECT q.id FROM {schema}.worker_queue q
                        WHERE q.locked_until IS NULL AND q.route = r.route AND q.code = r.code
                            AND q.lane = l.lane AND q.id > v_after
                        ORDER BY q.id LIMIT 1) AS h
                    WHERE p_code IS NOT NULL ORDER BY h.id LIMIT c_read) AS first
                CROSS JOIN LATERAL (
                    SELECT q.id, q.session_id FROM {schema}.worker_queue q
                    WHERE q.locked_until IS NULL AND q.route = first.route
                        AND q.code = first.code AND q.lane = first.lane AND q.id > v_after
                    ORDER BY q.id LIMIT c_read) AS w
                UNION
                SELECT w.id, w.session_id
                FROM (SELECT DISTINCT o.owner FROM unnest(v_owners) AS o (owner)) AS o
                JOIN {schema}.sessions s ON s.worker_id = o.owner AND s.locked_until > p_now
                CROSS JOIN LATERAL (
                    SELECT q.id, q.session_id FROM {schema}.worker_queue q
                    WHERE p_code IS NULL AND q.session_id = s.session_id AND q.id > v_after
                        AND q.locked_until IS NULL AND q.visible_at = 0
                        AND q.route = ANY (p_routes)
                    ORDER BY q.id LIMIT c_read) AS w
                UNION
                SELECT w.id, w.session_id
                FROM (SELECT DISTINCT o.owner FROM unnest(v_owners) AS o (owner)) AS o
                JOIN {schema}.sessions s ON s.worker_id = o.owner AND s.locked_until > p_now
                CROSS JOIN unnest(p_routes, p_code) AS r (route, code)
                CROSS JOIN LATERAL (
                    SELECT q.id, q.session_id FROM {schema}.worker_queue q
                    WHERE q.session_id = s.session_id AND q.id > v_after
                        AND hashtextextended(q.code, 0) = hashtextextended(r.code, 0)
                        AND q.code = r.code AND q.route = r.route
                        AND q.locked_until IS NULL AND q.visible_at = 0
                    ORDER BY q.id LIMIT c_read) AS w
                WHERE p_code IS NOT NULL
                ORDER BY id LIMIT c_read
            ) AS c
            LEFT JOIN {schema}.sessions h
                ON h.session_id = c.session_id AND h.locked_until > p_now
            ORDER BY c.id
        LOOP
            v_count := v_count + 1;
            v_after := v_row.id;
            v_holder := coalesce(
                v_holders[array_position(v_sessions, v_row.session_id)], v_row.holder);
            v_slot := NULL;
            IF v_row.session_id IS NULL THEN
                v_slot := array_position(v_free, TRUE);
            ELSIF v_holder IS NOT NULL THEN
                v_slot := array_position(v_owners, v_holder);
                IF v_slot IS NULL THEN
                    v_foreign := v_foreign || v_row.id;
                    IF v_row.session_id <> ALL (v_foreign_sessions) THEN
                        v_foreign_sessions := v_foreign_sessions || v_row.session_id;
                    END IF;
                END IF;
            ELSE
                SELECT min(o.slot) INTO v_slot
                FROM unnest(v_owners) WITH ORDINALITY AS o (owner, slot)
                WHERE o.owner IS NOT NULL;
            END IF;
            CONTINUE WHEN v_slot IS NULL;
            SELECT q.lock_token INTO v_token FROM {schema}.worker_queue q
            WHERE q.id = v_row.id AND q.locked_until IS NULL AND q.visible_at = 0
            FOR UPDATE SKIP LOCKED;
            CONTINUE WHEN NOT FOUND;
            IF v_token IS NOT NULL AND v_token <> ALL (p_free) THEN
                o_expired_ids := o_expired_ids || v_row.id;
                o_expired_tokens := o_expired_tokens || v_token;
                CONTINUE;
            END IF;
            CONTINUE WHEN p_asks AND o_expired_ids IS NOT NULL;
            v_claim := FALSE;
            IF v_row.session_id IS NOT NULL THEN
                -- A claim holds the advisory lock of its session, so that no claim waits for
                -- another.
                CONTINUE WHEN NOT pg_try_advisory_xact_lock(
                    {schema}.instance_key('session ' || v_row.session_id));
                INSERT INTO {schema}.sessions AS s
                    (session_id, worker_id, locked_until, last_activity_at, timed_at)
                VALUES (v_row.session_id, v_owners[v_slot], p_now + s_lock_for[v_slot], p_now,
                    p_now)
                ON CONFLICT (session_id) DO UPDATE SET worker_id = excluded.worker_id,
                    locked_until = excluded.locked_until,
                    last_activity_at = excluded.last_activity_at,
                    timed_at = excluded.timed_at, expired = FALSE
                WHERE s.locked_until <= p_now OR s.worker_id = excluded.worker_id;
                CONTINUE WHEN NOT FOUND;
                v_claim := v_holder IS NULL;
                IF array_position(v_sessions, v_row.session_id) IS NULL THEN
                    v_sessions := v_sessions || v_row.session_id;
                    v_holders := v_holders || v_owners[v_slot];
                END IF;
            END IF;
            o_ids := o_ids || v_row.id;
            o_places := o_places || v_slot;
            o_claims := o_claims || v_claim;
            v_free[v_slot] := FALSE;
            v_owners[v_slot] := NULL;
        END LOOP;
        -- All slots are full, or everything is read.
        IF cardinality(o_ids) = v_slots OR v_count < c_read THEN
            o_due := NULL;
            EXIT;
        END IF;
    END LOOP;
    IF cardinality(o_ids) > 0 THEN
        o_expired_ids := NULL;
        o_expired_tokens := NULL;
    END IF;
    IF cardinality(v_foreign) > 0 THEN
        -- A node of an earlier release may have claimed it.
        UPDATE {schema}.sessions s SET expired = FALSE
        WHERE s.session_id = ANY (v_foreign_sessions) AND s.locked_until > p_now AND s.expired;
        -- While the lock of a session is shared, its expiry does not move activities back.
        SELECT array_agg(l.session_id) INTO v_sessions FROM (
            SELECT s.session_id FROM {schema}.sessions s
            WHERE s.session_id = ANY (v_foreign_sessions) AND s.locked_until > p_now
                AND NOT s.expired
            FOR KEY SHARE SKIP LOCKED) AS l;
        UPDATE {schema}.worker_queue q SET lane = 2
        WHERE q.id IN (
            SELECT w.id FROM {schema}.worker_queue w
            WHERE w.id = ANY (v_foreign) AND w.session_id = ANY (v_sessions) AND w.lane = 1
                AND w.locked_until IS NULL
            ORDER BY w.id FOR UPDATE SKIP LOCKED);
        IF FOUND AND o_due IS NOT NULL THEN
            o_due := p_now;
        END IF;
    END IF;
END
$body$;
