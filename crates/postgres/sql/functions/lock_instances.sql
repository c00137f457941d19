-- Waits for the advisory locks of instances, in one order, so that two callers cannot deadlock.
CREATE OR REPLACE FUNCTION {schema}.lock_instances{v}(p_instances TEXT[]) RETURNS VOID
LANGUAGE plpgsql AS $body$
DECLARE
    v_key BIGINT;
BEGIN
    IF cardinality(p_instances) = 1 THEN
        PERFORM pg_advisory_xact_lock({schema}.instance_key(p_instances[1]));
        RETURN;
    END IF;
    FOR v_key IN
        SELECT DISTINCT {schema}.instance_key(instance_id)
        FROM unnest(p_instances) AS given (instance_id) ORDER BY 1
    LOOP
        PERFORM pg_advisory_xact_lock(v_key);
    END LOOP;
END
$body$;
