-- The first of these instances that runs.
CREATE OR REPLACE FUNCTION {schema}.first_running{v}(p_ids TEXT[]) RETURNS TEXT
LANGUAGE plpgsql AS $body$
BEGIN
    RETURN (
        SELECT i.instance_id FROM {schema}.instances i
        JOIN {schema}.executions e
            ON e.instance_id = i.instance_id AND e.execution_id = i.current_execution_id
        WHERE i.instance_id = ANY (p_ids)
            AND {schema}.instance_status{v}(i.instance_id, e.status) = 'Running'
        ORDER BY array_position(p_ids, i.instance_id) LIMIT 1);
END
$body$;
