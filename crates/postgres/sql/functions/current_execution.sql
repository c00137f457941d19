-- The current execution of an instance; if the instance is not stored, the last one with events,
-- unless these belong to a deleted instance, or 1.
CREATE OR REPLACE FUNCTION {schema}.current_execution{v}(p_instance TEXT) RETURNS BIGINT
LANGUAGE plpgsql STABLE AS $body$
DECLARE
    v_execution BIGINT;
BEGIN
    SELECT i.current_execution_id INTO v_execution FROM {schema}.instances i
    WHERE i.instance_id = p_instance;
    IF v_execution IS NULL THEN
        SELECT max(h.execution_id) INTO v_execution FROM {schema}.history h
        WHERE h.instance_id = p_instance AND (
            SELECT 1 FROM {schema}.deletions d
            WHERE d.instance_id = p_instance AND d.execution_id = 0) IS NULL;
    END IF;
    RETURN coalesce(v_execution, 1);
END
$body$;
