-- Deletes exactly these instances, all or none. A refusal names the instance that runs, or the
-- parent and the child that the list lacks.
CREATE OR REPLACE FUNCTION {schema}.delete_instances{v}(
    p_ids TEXT[], p_force BOOLEAN,
    OUT o_running TEXT, OUT o_parent TEXT, OUT o_child TEXT,
    OUT o_instances BIGINT, OUT o_executions BIGINT, OUT o_events BIGINT, OUT o_messages BIGINT
)
LANGUAGE plpgsql AS $body$
DECLARE
    v_count BIGINT;
BEGIN
    -- In the order in which a commit locks them, so that the two cannot deadlock: a commit holds
    -- its lease before it waits for anything.
    PERFORM 1 FROM {schema}.instance_locks l WHERE l.instance_id = ANY (p_ids)
    ORDER BY l.instance_id FOR UPDATE;
    -- Until the transaction ends, no other one leases or starts them or creates their children.
    PERFORM {schema}.lock_instances{v}(p_ids);
    PERFORM 1 FROM {schema}.instances i WHERE i.instance_id = ANY (p_ids)
    ORDER BY i.instance_id FOR UPDATE;
    IF NOT p_force THEN
        SELECT i.instance_id INTO o_running FROM {schema}.instances i
        JOIN {schema}.executions e
            ON e.instance_id = i.instance_id AND e.execution_id = i.current_execution_id
        WHERE i.instance_id = ANY (p_ids)
            AND {schema}.instance_status{v}(i.instance_id, e.status) = 'Running'
        ORDER BY array_position(p_ids, i.instance_id) LIMIT 1;
    END IF;
    SELECT i.parent_instance_id, i.instance_id INTO o_parent, o_child
    FROM {schema}.instances i
    WHERE i.parent_instance_id = ANY (p_ids) AND i.instance_id <> ALL (p_ids)
    ORDER BY array_position(p_ids, i.parent_instance_id), i.created_at, i.number LIMIT 1;
    IF o_running IS NOT NULL OR o_child IS NOT NULL THEN
        RETURN;
    END IF;
    -- Without its lease a turn in flight cannot recreate the instance.
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
    DELETE FROM {schema}.message_ids m WHERE m.instance_id = ANY (p_ids);
    DELETE FROM {schema}.instances i WHERE i.instance_id = ANY (p_ids);
    GET DIAGNOSTICS o_instances = ROW_COUNT;
END
$body$;
