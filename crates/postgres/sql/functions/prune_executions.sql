-- Deletes old executions of an instance, never the current or a running one. Returns nulls if the
-- instance does not exist.
CREATE OR REPLACE FUNCTION {schema}.prune_executions{v}(
    p_instance TEXT, p_keep_last BIGINT, p_completed_before BIGINT,
    OUT o_executions BIGINT, OUT o_events BIGINT
)
LANGUAGE plpgsql AS $body$
DECLARE
    v_current BIGINT;
    v_doomed BIGINT[];
BEGIN
    SELECT i.current_execution_id INTO v_current FROM {schema}.instances i
    WHERE i.instance_id = p_instance FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    SELECT coalesce(array_agg(e.execution_id), '{}') INTO v_doomed
    FROM {schema}.executions e
    WHERE e.instance_id = p_instance AND e.execution_id <> v_current AND e.status <> 'Running'
        AND (p_completed_before IS NULL OR e.completed_at < p_completed_before)
        AND e.execution_id NOT IN (
            SELECT k.execution_id FROM {schema}.executions k WHERE k.instance_id = p_instance
            ORDER BY k.execution_id DESC LIMIT p_keep_last);
    DELETE FROM {schema}.history h
    WHERE h.instance_id = p_instance AND h.execution_id = ANY (v_doomed);
    GET DIAGNOSTICS o_events = ROW_COUNT;
    DELETE FROM {schema}.executions e
    WHERE e.instance_id = p_instance AND e.execution_id = ANY (v_doomed);
    GET DIAGNOSTICS o_executions = ROW_COUNT;
END
$body$;
