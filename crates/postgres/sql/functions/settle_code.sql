-- Stores the code of ready activities of a route that have none yet. Returns after how many
-- milliseconds to go on with the rest, or null if none is left.
CREATE OR REPLACE FUNCTION {schema}.settle_code{v}(p_route TEXT) RETURNS INTEGER
LANGUAGE plpgsql AS $body$
DECLARE
    c_max CONSTANT BIGINT := 512;
    v_settled BIGINT;
BEGIN
    UPDATE {schema}.worker_queue q SET code = {schema}.activity_code{v}(q.work_item)
    FROM (
        SELECT w.id FROM {schema}.worker_queue w
        WHERE w.locked_until IS NULL AND w.route = p_route AND w.code IS NULL
        ORDER BY w.route, w.code NULLS FIRST LIMIT c_max FOR UPDATE SKIP LOCKED) AS unknown
    WHERE q.id = unknown.id;
    GET DIAGNOSTICS v_settled = ROW_COUNT;
    IF v_settled = c_max THEN
        RETURN 0;
    ELSIF EXISTS (
        SELECT 1 FROM {schema}.worker_queue q
        WHERE q.locked_until IS NULL AND q.route = p_route AND q.code IS NULL)
    THEN
        -- Another transaction holds them at this moment, and wakes no waiter when it ends.
        RETURN 20;
    END IF;
    RETURN NULL;
END
$body$;
