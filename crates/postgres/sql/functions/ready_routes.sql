-- The routes that have ready activities, each found by one index probe.
CREATE OR REPLACE FUNCTION {schema}.ready_routes{v}() RETURNS TEXT[]
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
