-- Locks the oldest activity that a slot may run, and claims its session.
CREATE OR REPLACE FUNCTION {schema}.claim_for_slot{v}(
    p_now BIGINT, p_routes TEXT[], p_owner TEXT, p_session_lock_for BIGINT, p_chosen BIGINT[],
    OUT o_id BIGINT, OUT o_claimed BOOLEAN
)
LANGUAGE plpgsql AS $body$
DECLARE
    v_row RECORD;
    v_held BOOLEAN;
BEGIN
    -- Tries several, because other workers may hold the first ones at this moment.
    FOR v_row IN
        SELECT o.id, o.session_id FROM unnest(p_routes) AS r (route)
        CROSS JOIN LATERAL (
            SELECT q.id, q.session_id FROM {schema}.worker_queue q
            WHERE q.locked_until IS NULL AND q.route = r.route AND q.visible_at <= p_now
                AND q.id <> ALL (p_chosen)
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
        -- A claim holds the advisory lock of its session, so that no claim waits for another.
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
