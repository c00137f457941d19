-- Ends the leases by which a deletion that is not to be kept these instances from running.
CREATE OR REPLACE FUNCTION {schema}.release_reserved{v}(p_ids TEXT[], p_deletion UUID) RETURNS VOID
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $body$
DECLARE
    c_for_ever CONSTANT BIGINT := 9223372036854775807;
    v_released TEXT[];
BEGIN
    WITH released AS (
        DELETE FROM {schema}.instance_locks l
        WHERE l.instance_id = ANY (p_ids) AND l.lock_token = p_deletion
            -- What is hidden already stays so.
            AND l.locked_until < c_for_ever
        RETURNING l.instance_id)
    SELECT array_agg(r.instance_id) INTO v_released FROM released r;
    -- Fetches passed over what arrived meanwhile.
    PERFORM {schema}.list_next_messages{v}(v_released);
END
$body$;
