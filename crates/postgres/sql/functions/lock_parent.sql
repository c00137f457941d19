-- The parent of an instance that is about to be created, if the parent exists. Prevents the
-- deletion of the parent until the transaction ends.
CREATE OR REPLACE FUNCTION {schema}.lock_parent{v}(p_instance TEXT, p_parent TEXT) RETURNS TEXT
LANGUAGE plpgsql AS $body$
DECLARE
    v_found TEXT;
BEGIN
    PERFORM 1 FROM {schema}.instances i WHERE i.instance_id = p_instance;
    IF NOT FOUND THEN
        SELECT i.instance_id INTO v_found FROM {schema}.instances i
        WHERE i.instance_id = p_parent FOR KEY SHARE;
    END IF;
    RETURN v_found;
END
$body$;
