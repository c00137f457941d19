-- For a transaction that adds starts: until it ends, no fetch sets messages of these instances
-- aside because it does not see the starts. The locks of all instances of a large turn would not
-- fit into the server's table of locks; their parking locks do.
CREATE OR REPLACE FUNCTION {schema}.lock_starts{v}(p_instances TEXT[]) RETURNS VOID
LANGUAGE plpgsql AS $body$
DECLARE
    v_key BIGINT;
BEGIN
    IF cardinality(p_instances) <= 256 THEN
        PERFORM {schema}.lock_instances{v}(p_instances);
        RETURN;
    END IF;
    FOR v_key IN
        SELECT DISTINCT {schema}.parking_key{v}(given.instance_id)
        FROM unnest(p_instances) AS given (instance_id) ORDER BY 1
    LOOP
        -- Shared, so that two large turns do not wait for each other.
        PERFORM pg_advisory_xact_lock_shared(v_key);
    END LOOP;
END
$body$;
