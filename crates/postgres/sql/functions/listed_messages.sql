-- The messages of an instance that are listed under a route: some of the first, starts, and those far
-- behind, each found by an index. It reads neither the other messages of the instance nor what is
-- listed of others.
CREATE OR REPLACE FUNCTION {schema}.listed_messages{v}(p_instance TEXT, p_first INTEGER)
RETURNS TABLE (o_id BIGINT)
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $body$
BEGIN
    RETURN QUERY
    SELECT f.id FROM (
        SELECT q.id, q.pin FROM {schema}.orchestrator_queue q
        WHERE q.instance_id = p_instance ORDER BY q.id LIMIT p_first) AS f
    WHERE f.pin > '\x00';
    RETURN QUERY
    SELECT q.id FROM {schema}.orchestrator_queue q
    WHERE q.instance_id = p_instance AND q.kind = {KIND_START} AND q.pin > '\x00';
    RETURN QUERY
    SELECT q.id FROM {schema}.orchestrator_queue q
    WHERE q.instance_id = p_instance AND q.far AND q.pin > '\x00';
END
$body$;
