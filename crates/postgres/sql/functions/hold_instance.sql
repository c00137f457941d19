-- Holds an instance for an operator's call: a lease that holds no messages, like a suspension, in
-- place of any other. A suspension that would last longer keeps its time. Unless `o_known`, the
-- instance is unknown; if its status says that it has ended, nothing changes.
CREATE OR REPLACE FUNCTION {schema}.hold_instance{v}(
    p_now BIGINT, p_instance TEXT, p_token UUID, p_lock_for BIGINT, p_cancellations_max BIGINT,
    OUT o_known BOOLEAN, OUT o_status TEXT, OUT o_execution BIGINT, OUT o_last_event BIGINT,
    OUT o_start TEXT, OUT o_executions BIGINT[], OUT o_activities BIGINT[],
    OUT o_cancellations TEXT[]
)
LANGUAGE plpgsql AS $body$
DECLARE
    v_now BIGINT := coalesce(p_now, {schema}.now_ms());
    v_start BIGINT;
BEGIN
    -- In the order in which a commit locks them, so that the two cannot deadlock.
    PERFORM 1 FROM {schema}.instance_locks l WHERE l.instance_id = p_instance FOR UPDATE;
    -- Until the transaction ends, no fetch leases the instance.
    PERFORM pg_advisory_xact_lock({schema}.instance_key(p_instance));
    -- A fetch may have leased it while this call waited.
    PERFORM 1 FROM {schema}.instance_locks l WHERE l.instance_id = p_instance FOR UPDATE;
    PERFORM 1 FROM {schema}.instances i WHERE i.instance_id = p_instance FOR UPDATE;
    o_execution := {schema}.current_execution{v}(p_instance);
    SELECT coalesce(e.status, 'Running') INTO o_status
    FROM {schema}.instances i
    LEFT JOIN {schema}.executions e
        ON e.instance_id = i.instance_id AND e.execution_id = i.current_execution_id
    WHERE i.instance_id = p_instance;
    o_known := FOUND;
    -- A new instance with the id of a deleted one starts after the old rows are gone.
    IF NOT o_known AND EXISTS (
        SELECT 1 FROM {schema}.deletions d
        WHERE d.instance_id = p_instance AND d.execution_id = 0)
    THEN
        RETURN;
    END IF;
    SELECT max(h.event_id) INTO o_last_event FROM {schema}.history h
    WHERE h.instance_id = p_instance AND h.execution_id = o_execution;
    IF o_status IS NULL OR o_status = 'ContinuedAsNew' THEN
        -- A continuation comes before any other start.
        SELECT q.work_item, q.id INTO o_start, v_start FROM {schema}.orchestrator_queue q
        WHERE q.instance_id = p_instance AND q.kind = {KIND_START} AND NOT q.parked
            AND (o_status IS NULL OR q.work_item LIKE '__ContinueAsNew_%')
        ORDER BY q.work_item NOT LIKE '__ContinueAsNew_%', q.id LIMIT 1;
    END IF;
    o_known := o_known OR o_last_event IS NOT NULL OR o_start IS NOT NULL;
    IF NOT o_known OR o_status IN ('Completed', 'Failed') THEN
        RETURN;
    END IF;
    INSERT INTO {schema}.instance_locks AS l
        (instance_id, lock_token, locked_until, message_ids, locked_at)
    VALUES (p_instance, p_token, v_now + p_lock_for, '{}', v_now)
    ON CONFLICT (instance_id) DO UPDATE SET
        lock_token = p_token, message_ids = '{}', running = FALSE, locked_at = v_now,
        locked_until = CASE WHEN cardinality(l.message_ids) = 0
            THEN greatest(l.locked_until, excluded.locked_until) ELSE excluded.locked_until END;
    SELECT array_agg(a.execution_id), array_agg(a.activity_id) INTO o_executions, o_activities
    FROM (
        SELECT q.execution_id, q.activity_id FROM {schema}.worker_queue q
        WHERE q.instance_id = p_instance ORDER BY q.execution_id, q.activity_id) AS a;
    -- One that came before the start of an instance that is not stored was meant for another.
    SELECT array_agg(c.work_item ORDER BY c.id) INTO o_cancellations
    FROM (
        SELECT q.id, q.work_item FROM {schema}.orchestrator_queue q
        WHERE q.instance_id = p_instance AND left(q.work_item, 17) LIKE '_"CancelInstance"'
            AND NOT q.parked AND q.visible_at <= v_now
            AND (o_status IS NOT NULL OR q.id > v_start)
        ORDER BY q.id LIMIT p_cancellations_max) AS c;
END
$body$;
