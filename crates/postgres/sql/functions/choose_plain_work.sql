-- Locks the oldest ready activities without a session, up to as many as there are slots. It locks
-- only what it returns, and goes on behind activities that other workers hold at this moment.
CREATE OR REPLACE FUNCTION {schema}.choose_plain_work{v}(p_routes TEXT[], p_slots INTEGER)
RETURNS BIGINT[]
LANGUAGE plpgsql AS $body$
DECLARE
    v_ids BIGINT[] := '{}';
    v_read BIGINT[];
    v_locked BIGINT[];
    v_after BIGINT := 0;
BEGIN
    FOR v_round IN 1..16 LOOP
        SELECT coalesce(array_agg(c.id ORDER BY c.id), '{}') INTO v_read FROM (
            SELECT o.id FROM unnest(p_routes) AS r (route)
            CROSS JOIN LATERAL (
                SELECT q.id FROM {schema}.worker_queue q
                WHERE q.locked_until IS NULL AND q.route = r.route AND q.lane = 0
                    AND q.id > v_after
                ORDER BY q.id LIMIT p_slots) AS o
            ORDER BY o.id LIMIT p_slots) AS c;
        SELECT coalesce(array_agg(c.id ORDER BY c.id), '{}') INTO v_locked FROM (
            SELECT q.id FROM {schema}.worker_queue q
            WHERE q.id = ANY (v_read) AND q.locked_until IS NULL AND q.lane = 0
            ORDER BY q.id LIMIT p_slots - cardinality(v_ids) FOR UPDATE SKIP LOCKED) AS c;
        v_ids := v_ids || v_locked;
        EXIT WHEN cardinality(v_ids) >= p_slots OR cardinality(v_read) < p_slots;
        v_after := v_read[p_slots];
    END LOOP;
    RETURN v_ids;
END
$body$;
