-- The messages of an instance that are listed under a route: some of the first, and any others under
-- a route that the instance has or had lately. It reads the first and the lists of these routes,
-- not the other messages of the instance.
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
    WHERE f.pin <> '\x';
    RETURN QUERY
    -- A route begins with the name of the code, and that of no code with the end of a name.
    WITH RECURSIVE names (name) AS (
        SELECT DISTINCT substring(r.code FROM 1 FOR position('\x01'::BYTEA IN r.code)) FROM (
            SELECT '\x01'::BYTEA AS code
            UNION ALL
            SELECT {schema}.turn_route{v}(p_instance)
            UNION ALL
            (SELECT e.code FROM {schema}.executions e
             WHERE e.instance_id = p_instance ORDER BY e.execution_id DESC LIMIT 4)
        ) AS r
        WHERE position('\x01'::BYTEA IN r.code) > 0
    ), routes (name, route) AS (
        SELECT n.name, (
            SELECT q.pin FROM {schema}.orchestrator_queue q
            WHERE NOT q.parked AND q.pin >= n.name ORDER BY q.pin LIMIT 1)
        FROM names n
        UNION ALL
        SELECT r.name, (
            SELECT q.pin FROM {schema}.orchestrator_queue q
            WHERE NOT q.parked AND q.pin > r.route ORDER BY q.pin LIMIT 1)
        FROM routes r WHERE substring(r.route FROM 1 FOR length(r.name)) = r.name
    )
    SELECT q.id FROM routes r
    CROSS JOIN LATERAL (
        SELECT w.id, w.instance_id FROM {schema}.orchestrator_queue w
        WHERE NOT w.parked AND w.pin = r.route
        ORDER BY w.visible_at, w.id OFFSET 0) AS q
    WHERE substring(r.route FROM 1 FOR length(r.name)) = r.name AND q.instance_id = p_instance;
END
$body$;
