-- Locks the oldest ready activities without a session, up to as many as there are slots. It locks
-- only what it returns, and goes on behind activities that other workers hold at this moment.
-- `o_expired_ids` are those with the token of an expired lease that is not in `p_free`, unless that
-- is null.
CREATE OR REPLACE FUNCTION {schema}.choose_plain_work{v}(
    p_routes TEXT[],
    -- The code of each route; null if the worker has all.
    p_code TEXT[],
    p_slots INTEGER, p_free UUID[],
    OUT o_ids BIGINT[], OUT o_expired_ids BIGINT[], OUT o_expired_tokens UUID[]
)
LANGUAGE plpgsql AS $body$
DECLARE
    v_read BIGINT[];
    v_locked BIGINT[];
    v_expired BIGINT[];
    v_tokens UUID[];
    v_after BIGINT := 0;
BEGIN
    o_ids := '{}';
    FOR v_round IN 1..16 LOOP
        IF p_code IS NULL THEN
            SELECT coalesce(array_agg(c.id ORDER BY c.id), '{}') INTO v_read FROM (
                SELECT o.id FROM unnest(p_routes) AS r (route)
                CROSS JOIN LATERAL (
                    SELECT q.id FROM {schema}.worker_queue q
                    WHERE q.locked_until IS NULL AND q.route = r.route AND q.lane = 0
                        AND q.id > v_after
                    ORDER BY q.id LIMIT p_slots) AS o
                ORDER BY o.id LIMIT p_slots) AS c;
        ELSE
            -- Each of the oldest is the first of its code, or stands behind such a one.
            SELECT coalesce(array_agg(c.id ORDER BY c.id), '{}') INTO v_read FROM (
                SELECT o.id FROM (
                    SELECT r.route, r.code FROM unnest(p_routes, p_code) AS r (route, code)
                    CROSS JOIN LATERAL (
                        SELECT q.id FROM {schema}.worker_queue q
                        WHERE q.locked_until IS NULL AND q.route = r.route AND q.code = r.code
                            AND q.lane = 0 AND q.id > v_after
                        ORDER BY q.id LIMIT 1) AS h
                    ORDER BY h.id LIMIT p_slots) AS first
                CROSS JOIN LATERAL (
                    SELECT q.id FROM {schema}.worker_queue q
                    WHERE q.locked_until IS NULL AND q.route = first.route
                        AND q.code = first.code AND q.lane = 0 AND q.id > v_after
                    ORDER BY q.id LIMIT p_slots) AS o
                ORDER BY o.id LIMIT p_slots) AS c;
        END IF;
        SELECT coalesce(array_agg(c.id ORDER BY c.id) FILTER (WHERE c.is_free), '{}'),
            array_agg(c.id) FILTER (WHERE NOT c.is_free),
            array_agg(c.lock_token) FILTER (WHERE NOT c.is_free)
        INTO v_locked, v_expired, v_tokens FROM (
            SELECT q.id, q.lock_token, p_free IS NULL OR q.lock_token IS NULL
                OR q.lock_token = ANY (p_free) AS is_free
            FROM {schema}.worker_queue q
            WHERE q.id = ANY (v_read) AND q.locked_until IS NULL AND q.lane = 0
            ORDER BY q.id LIMIT p_slots - cardinality(o_ids) FOR UPDATE SKIP LOCKED) AS c;
        o_ids := o_ids || v_locked;
        o_expired_ids := o_expired_ids || v_expired;
        o_expired_tokens := o_expired_tokens || v_tokens;
        EXIT WHEN cardinality(o_ids) >= p_slots OR cardinality(v_read) < p_slots;
        v_after := v_read[p_slots];
    END LOOP;
END
$body$;
