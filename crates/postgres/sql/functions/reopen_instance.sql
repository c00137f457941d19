-- Leases an instance to an operator's call that stores an execution, if the instance is as expected:
-- held under `p_held`, or, if that is null, ended in `p_execution` with the event `p_last_event`,
-- or, if that is null too, unknown. Otherwise nothing changes and `o_token_is_lost` or `o_status`
-- says why. `p_again` repeats the lease within the same transaction. With `p_replaces` the keys that
-- finished executions left are replaced by those of `k_`.
CREATE OR REPLACE FUNCTION {schema}.reopen_instance{v}(
    p_now BIGINT, p_instance TEXT, p_token UUID, p_held UUID, p_execution BIGINT,
    p_last_event BIGINT, p_again BOOLEAN, p_replaces BOOLEAN,
    k_key TEXT[], k_value TEXT[], k_at BIGINT[],
    OUT o_is_expected BOOLEAN, OUT o_token_is_lost BOOLEAN, OUT o_known BOOLEAN, OUT o_status TEXT,
    OUT o_current BIGINT
)
LANGUAGE plpgsql AS $body$
DECLARE
    v_now BIGINT := coalesce(p_now, {schema}.now_ms());
    v_last BIGINT;
    v_held RECORD;
BEGIN
    o_token_is_lost := FALSE;
    -- In the order in which a commit locks them, so that the two cannot deadlock.
    PERFORM 1 FROM {schema}.instance_locks l WHERE l.instance_id = p_instance FOR UPDATE;
    -- Until the transaction ends, no fetch leases the instance.
    PERFORM pg_advisory_xact_lock({schema}.instance_key(p_instance));
    -- A fetch may have leased it while this call waited.
    SELECT l.lock_token, l.locked_until INTO v_held FROM {schema}.instance_locks l
    WHERE l.instance_id = p_instance FOR UPDATE;
    PERFORM 1 FROM {schema}.instances i WHERE i.instance_id = p_instance FOR UPDATE;
    o_current := {schema}.current_execution{v}(p_instance);
    SELECT coalesce(e.status, 'Running') INTO o_status
    FROM {schema}.instances i
    LEFT JOIN {schema}.executions e
        ON e.instance_id = i.instance_id AND e.execution_id = i.current_execution_id
    WHERE i.instance_id = p_instance;
    o_known := FOUND;
    IF p_again THEN
        o_is_expected := TRUE;
    ELSIF p_held IS NOT NULL THEN
        o_is_expected := v_held.lock_token IS NOT DISTINCT FROM p_held
            AND v_held.locked_until > v_now;
        o_token_is_lost := NOT o_is_expected;
    ELSIF p_execution IS NOT NULL THEN
        SELECT max(h.event_id) INTO v_last FROM {schema}.history h
        WHERE h.instance_id = p_instance AND h.execution_id = o_current;
        o_is_expected := o_known AND o_current = p_execution
            AND coalesce(v_last, 0) = p_last_event
            AND o_status IN ('Completed', 'Failed', 'ContinuedAsNew');
    ELSE
        -- The rows of a deleted instance have the same id.
        o_is_expected := NOT o_known AND NOT EXISTS (
                SELECT 1 FROM {schema}.deletions d
                WHERE d.instance_id = p_instance AND d.execution_id = 0)
            AND NOT EXISTS (
                SELECT 1 FROM {schema}.history h WHERE h.instance_id = p_instance)
            AND NOT EXISTS (
                SELECT 1 FROM {schema}.orchestrator_queue q
                WHERE q.instance_id = p_instance AND q.kind = {KIND_START});
    END IF;
    IF NOT o_is_expected THEN
        RETURN;
    END IF;
    INSERT INTO {schema}.instance_locks
        (instance_id, lock_token, locked_until, message_ids, locked_at)
    VALUES (p_instance, p_token, 9223372036854775807, '{}', v_now)
    ON CONFLICT (instance_id) DO UPDATE SET
        lock_token = p_token, locked_until = excluded.locked_until, message_ids = '{}',
        running = FALSE, locked_at = v_now;
    IF NOT o_known THEN
        -- Queue messages may have waited for an instance of this id.
        PERFORM {schema}.unpark_messages{v}(ARRAY[p_instance]);
    END IF;
    IF p_replaces THEN
        DELETE FROM {schema}.kv_delta d WHERE d.instance_id = p_instance;
        DELETE FROM {schema}.kv_store s WHERE s.instance_id = p_instance;
        INSERT INTO {schema}.kv_store (instance_id, key, value, last_updated_at_ms)
        SELECT p_instance, k.key, k.value, k.at FROM unnest(k_key, k_value, k_at) AS k (key, value, at);
    END IF;
END
$body$;
