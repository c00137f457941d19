-- The route of an instance: the key of the code that its next turn needs, and the pin of its current
-- execution. Bytes 1 and 1 mean that the turn needs no code.
CREATE OR REPLACE FUNCTION {schema}.turn_route{v}(p_instance TEXT) RETURNS BYTEA
LANGUAGE plpgsql STABLE AS $body$
DECLARE
    v_row RECORD;
BEGIN
    SELECT i.orchestration_name, i.orchestration_version, e.status, e.duroxide_version_key
    INTO v_row
    FROM {schema}.instances i
    JOIN {schema}.executions e
        ON e.instance_id = i.instance_id AND e.execution_id = i.current_execution_id
    WHERE i.instance_id = p_instance;
    IF NOT FOUND THEN
        RETURN coalesce((
            SELECT q.code FROM {schema}.orchestrator_queue q
            WHERE q.instance_id = p_instance AND q.kind = {KIND_START} AND NOT q.parked
            ORDER BY q.id LIMIT 1), '\x0101');
    END IF;
    -- Any node can drain what waits for an instance that has ended.
    IF v_row.status IN ('Completed', 'Failed') THEN
        RETURN '\x0101';
    END IF;
    RETURN CASE v_row.status
        WHEN 'Running' THEN
            {schema}.code_key{v}(v_row.orchestration_name, v_row.orchestration_version)
        WHEN 'ContinuedAsNew' THEN coalesce((
            SELECT q.code FROM {schema}.orchestrator_queue q
            WHERE q.instance_id = p_instance AND q.kind = {KIND_START} AND NOT q.parked
                AND q.work_item LIKE '__ContinueAsNew_%'
            ORDER BY q.id LIMIT 1), '\x0101')
        ELSE '\x0101' END || coalesce(v_row.duroxide_version_key, '\x');
END
$body$;
