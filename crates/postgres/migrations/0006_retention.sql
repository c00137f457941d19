-- Deletes exactly these instances, all or none. A refusal names the instance, and the child if it
-- has one that is not listed.
CREATE FUNCTION {schema}.delete_instances(
    p_ids TEXT[], p_force BOOLEAN,
    OUT o_running TEXT, OUT o_parent TEXT, OUT o_child TEXT,
    OUT o_instances BIGINT, OUT o_executions BIGINT, OUT o_events BIGINT, OUT o_messages BIGINT
)
LANGUAGE plpgsql AS $body$
DECLARE
    v_count BIGINT;
BEGIN
    -- Nobody hands them out, starts them or becomes their child until we are done.
    PERFORM {schema}.hold_instances(p_ids);
    PERFORM 1 FROM {schema}.instances i WHERE i.instance_id = ANY (p_ids)
    ORDER BY i.instance_id FOR UPDATE;
    IF NOT p_force THEN
        SELECT i.instance_id INTO o_running FROM {schema}.instances i
        JOIN {schema}.executions e
            ON e.instance_id = i.instance_id AND e.execution_id = i.current_execution_id
        WHERE i.instance_id = ANY (p_ids) AND e.status = 'Running'
        ORDER BY array_position(p_ids, i.instance_id) LIMIT 1;
    END IF;
    SELECT i.parent_instance_id, i.instance_id INTO o_parent, o_child
    FROM {schema}.instances i
    WHERE i.parent_instance_id = ANY (p_ids) AND i.instance_id <> ALL (p_ids)
    ORDER BY array_position(p_ids, i.parent_instance_id), i.created_at, i.number LIMIT 1;
    IF o_running IS NOT NULL OR o_child IS NOT NULL THEN
        RETURN;
    END IF;
    -- Without its lease a turn in flight cannot bring the instance back.
    DELETE FROM {schema}.instance_locks l WHERE l.instance_id = ANY (p_ids);
    DELETE FROM {schema}.history h WHERE h.instance_id = ANY (p_ids);
    GET DIAGNOSTICS o_events = ROW_COUNT;
    DELETE FROM {schema}.executions e WHERE e.instance_id = ANY (p_ids);
    GET DIAGNOSTICS o_executions = ROW_COUNT;
    DELETE FROM {schema}.orchestrator_queue q WHERE q.instance_id = ANY (p_ids);
    GET DIAGNOSTICS o_messages = ROW_COUNT;
    WITH doomed AS (
        SELECT q.id FROM {schema}.worker_queue q WHERE q.instance_id = ANY (p_ids)
        ORDER BY q.id FOR UPDATE)
    DELETE FROM {schema}.worker_queue q USING doomed WHERE q.id = doomed.id;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    o_messages := o_messages + v_count;
    DELETE FROM {schema}.kv_store k WHERE k.instance_id = ANY (p_ids);
    DELETE FROM {schema}.kv_delta k WHERE k.instance_id = ANY (p_ids);
    DELETE FROM {schema}.instances i WHERE i.instance_id = ANY (p_ids);
    GET DIAGNOSTICS o_instances = ROW_COUNT;
END
$body$;

-- Deletes old executions of an instance, never the current or a running one; null if the instance
-- is unknown.
CREATE FUNCTION {schema}.prune_executions(
    p_instance TEXT, p_keep_last BIGINT, p_completed_before BIGINT,
    OUT o_executions BIGINT, OUT o_events BIGINT
)
LANGUAGE plpgsql AS $body$
DECLARE
    v_current BIGINT;
    v_doomed BIGINT[];
BEGIN
    SELECT i.current_execution_id INTO v_current FROM {schema}.instances i
    WHERE i.instance_id = p_instance FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    SELECT coalesce(array_agg(e.execution_id), '{}') INTO v_doomed
    FROM {schema}.executions e
    WHERE e.instance_id = p_instance AND e.execution_id <> v_current AND e.status <> 'Running'
        AND (p_completed_before IS NULL OR e.completed_at < p_completed_before)
        AND e.execution_id NOT IN (
            SELECT k.execution_id FROM {schema}.executions k WHERE k.instance_id = p_instance
            ORDER BY k.execution_id DESC LIMIT p_keep_last);
    DELETE FROM {schema}.history h
    WHERE h.instance_id = p_instance AND h.execution_id = ANY (v_doomed);
    GET DIAGNOSTICS o_events = ROW_COUNT;
    DELETE FROM {schema}.executions e
    WHERE e.instance_id = p_instance AND e.execution_id = ANY (v_doomed);
    GET DIAGNOSTICS o_executions = ROW_COUNT;
END
$body$;
