-- Stores an instance of another store without its events and queues, unless the id is known: then
-- nothing changes. Until the transaction ends, no fetch leases the instance. `p_name` is null if
-- only messages wait for the instance, `p_starts` says whether a start is among them.
CREATE OR REPLACE FUNCTION {schema}.import_instance{v}(
    p_now BIGINT, p_instance TEXT, p_starts BOOLEAN, p_name TEXT, p_version TEXT,
    p_execution BIGINT, p_created_at BIGINT, p_updated_at BIGINT, p_parent TEXT, p_custom TEXT,
    p_custom_version BIGINT, p_incarnation BIGINT, p_suspended_since BIGINT, p_suspended_by TEXT,
    p_suspended_reason TEXT, p_suspended_until BIGINT, p_suspension UUID,
    x_id BIGINT[], x_status TEXT[], x_output TEXT[], x_started_at BIGINT[],
    x_completed_at BIGINT[], x_pin TEXT[], x_pin_key BYTEA[],
    k_key TEXT[], k_value TEXT[], k_at BIGINT[], k_current BOOLEAN[],
    i_id TEXT[], i_expires_at BIGINT[],
    OUT o_is_new BOOLEAN
)
LANGUAGE plpgsql AS $body$
DECLARE
    v_now BIGINT := coalesce(p_now, {schema}.now_ms());
BEGIN
    -- In the order in which a commit locks them, so that the two cannot deadlock.
    PERFORM 1 FROM {schema}.instance_locks l WHERE l.instance_id = p_instance FOR UPDATE;
    PERFORM {schema}.lock_instances{v}(ARRAY[p_instance]);
    -- The rows of a deleted instance have the same id.
    o_is_new := NOT EXISTS (
            SELECT 1 FROM {schema}.instances i WHERE i.instance_id = p_instance)
        AND NOT EXISTS (
            SELECT 1 FROM {schema}.deletions d
            WHERE d.instance_id = p_instance AND d.execution_id = 0)
        AND NOT EXISTS (
            SELECT 1 FROM {schema}.history h WHERE h.instance_id = p_instance)
        AND NOT EXISTS (
            SELECT 1 FROM {schema}.orchestrator_queue q
            WHERE q.instance_id = p_instance
                -- Messages without a start may be those of the copy.
                AND (q.kind = {KIND_START} OR (p_name IS NULL AND NOT p_starts)));
    IF NOT o_is_new THEN
        RETURN;
    END IF;
    IF p_name IS NOT NULL OR p_starts THEN
        PERFORM {schema}.unpark_messages{v}(ARRAY[p_instance]);
    END IF;
    IF p_name IS NOT NULL THEN
        INSERT INTO {schema}.instances (instance_id, orchestration_name, orchestration_version,
            current_execution_id, created_at, updated_at, parent_instance_id, custom_status,
            custom_status_version, incarnation, suspended_since, suspended_by, suspended_reason)
        SELECT p_instance, p_name, p_version, p_execution, p_created_at, p_updated_at,
            -- Prevents the deletion of the parent until the transaction ends.
            (SELECT i.instance_id FROM {schema}.instances i
             WHERE i.instance_id = p_parent FOR KEY SHARE),
            p_custom, p_custom_version, p_incarnation, p_suspended_since, p_suspended_by,
            p_suspended_reason;
    END IF;
    IF p_suspended_since IS NOT NULL THEN
        INSERT INTO {schema}.instance_locks
            (instance_id, lock_token, locked_until, message_ids, locked_at)
        VALUES (p_instance, p_suspension, p_suspended_until, '{}', v_now);
    END IF;
    INSERT INTO {schema}.executions (instance_id, execution_id, status, output, started_at,
        completed_at, duroxide_version, duroxide_version_key, code)
    SELECT p_instance, x.id, x.status, x.output, coalesce(x.started_at, 0), x.completed_at, x.pin,
        x.pin_key,
        CASE WHEN x.id = p_execution THEN {schema}.code_key{v}(p_name, p_version) END
    FROM unnest(x_id, x_status, x_output, x_started_at, x_completed_at, x_pin, x_pin_key)
        AS x (id, status, output, started_at, completed_at, pin, pin_key);
    INSERT INTO {schema}.kv_store (instance_id, key, value, last_updated_at_ms)
    SELECT p_instance, k.key, k.value, k.at
    FROM unnest(k_key, k_value, k_at, k_current) AS k (key, value, at, current)
    WHERE NOT k.current;
    INSERT INTO {schema}.kv_delta (instance_id, key, value, last_updated_at_ms)
    SELECT p_instance, k.key, k.value, k.at
    FROM unnest(k_key, k_value, k_at, k_current) AS k (key, value, at, current) WHERE k.current;
    INSERT INTO {schema}.message_ids (instance_id, message_id, expires_at)
    SELECT p_instance, i.id, i.expires_at FROM unnest(i_id, i_expires_at) AS i (id, expires_at)
    ON CONFLICT (instance_id, message_id) DO UPDATE SET expires_at = excluded.expires_at;
END
$body$;
