-- Ends some of the suspensions that have expired: their leases hold no messages. The messages are
-- listed as ready, so that a suspension that no node can run costs later fetches nothing, and those
-- that can take their turn among the others. True if more may have expired.
CREATE OR REPLACE FUNCTION {schema}.end_suspensions{v}(p_now BIGINT) RETURNS BOOLEAN
LANGUAGE plpgsql AS $body$
DECLARE
    c_ended_max CONSTANT INTEGER := 16;
    v_ended TEXT[];
BEGIN
    WITH due AS (
        SELECT l.instance_id FROM {schema}.instance_locks l
        WHERE l.locked_until <= p_now AND cardinality(l.message_ids) = 0
        ORDER BY l.locked_until, l.instance_id LIMIT c_ended_max FOR UPDATE SKIP LOCKED
    ), ended AS (
        DELETE FROM {schema}.instance_locks l USING due
        WHERE l.instance_id = due.instance_id RETURNING l.instance_id
    )
    SELECT array_agg(ended.instance_id) INTO v_ended FROM ended;
    IF v_ended IS NULL THEN
        RETURN FALSE;
    END IF;
    PERFORM {schema}.list_next_messages{v}(v_ended);
    RETURN cardinality(v_ended) = c_ended_max;
END
$body$;
