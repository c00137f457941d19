-- The parent of an instance that is about to be created, if the parent exists. Prevents the
-- deletion of the parent until the transaction ends. A parent whose deletion is under way counts:
-- then the deletion finds its new child, which must not run without it.
CREATE OR REPLACE FUNCTION {schema}.lock_parent{v}(p_instance TEXT, p_parent TEXT) RETURNS TEXT
LANGUAGE plpgsql AS $body$
DECLARE
    v_found TEXT;
BEGIN
    PERFORM 1 FROM {schema}.instances i WHERE i.instance_id = p_instance;
    IF NOT FOUND THEN
        SELECT i.instance_id INTO v_found FROM {schema}.instances i
        WHERE i.instance_id = p_parent FOR KEY SHARE;
        IF NOT FOUND THEN
            SELECT d.instance_id INTO v_found FROM {schema}.deletions d
            WHERE d.instance_id = p_parent AND d.execution_id = 0 FOR KEY SHARE;
        END IF;
    END IF;
    RETURN v_found;
END
$body$;
