-- Suspends an instance until an operator resumes it. The turn that a node holds is lost. Without a
-- status the instance is unknown; unless it is `Running`, nothing changes.
CREATE OR REPLACE FUNCTION {schema}.suspend_instance{v}(
    p_now BIGINT, p_instance TEXT, p_suspension UUID, p_reason TEXT,
    OUT o_status TEXT
)
LANGUAGE plpgsql AS $body$
DECLARE
    v_now BIGINT := coalesce(p_now, {schema}.now_ms());
    c_for_ever CONSTANT BIGINT := 9223372036854775807;
BEGIN
    -- In the order in which a commit locks them, so that the two cannot deadlock.
    PERFORM 1 FROM {schema}.instance_locks l WHERE l.instance_id = p_instance FOR UPDATE;
    -- Until the transaction ends, no fetch leases the instance.
    PERFORM pg_advisory_xact_lock({schema}.instance_key(p_instance));
    -- A fetch may have leased it while this call waited.
    PERFORM 1 FROM {schema}.instance_locks l WHERE l.instance_id = p_instance FOR UPDATE;
    PERFORM 1 FROM {schema}.instances i WHERE i.instance_id = p_instance FOR UPDATE;
    SELECT coalesce({schema}.instance_status{v}(i.instance_id, e.status), 'Unknown') INTO o_status
    FROM {schema}.instances i
    LEFT JOIN {schema}.executions e
        ON e.instance_id = i.instance_id AND e.execution_id = i.current_execution_id
    WHERE i.instance_id = p_instance;
    IF o_status IS DISTINCT FROM 'Running' THEN
        RETURN;
    END IF;
    UPDATE {schema}.instances i SET
        suspended_since = v_now, suspended_by = 'operator', suspended_reason = p_reason
    WHERE i.instance_id = p_instance;
    INSERT INTO {schema}.instance_locks (instance_id, lock_token, locked_until, message_ids)
    VALUES (p_instance, p_suspension, c_for_ever, '{}')
    ON CONFLICT (instance_id) DO UPDATE
    SET lock_token = p_suspension, locked_until = c_for_ever, message_ids = '{}', running = FALSE;
END
$body$;
