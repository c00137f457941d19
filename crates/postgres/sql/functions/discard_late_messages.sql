-- Removes some of the messages that wait for an instance that has ended; returns how many. Child
-- starts stay: the node that drains them notifies their parents.
CREATE OR REPLACE FUNCTION {schema}.discard_late_messages{v}(
    p_instance TEXT, p_messages_max BIGINT, OUT o_messages BIGINT
)
LANGUAGE plpgsql AS $body$
BEGIN
    WITH doomed AS (
        SELECT q.id FROM {schema}.orchestrator_queue q
        WHERE q.instance_id = p_instance AND NOT q.parked
            AND (q.kind <> {KIND_START} OR q.work_item LIKE '__ContinueAsNew_%'
                OR q.work_item LIKE '%"parent_instance":null%')
            AND EXISTS (
                SELECT 1 FROM {schema}.instances i JOIN {schema}.executions e
                    ON e.instance_id = i.instance_id AND e.execution_id = i.current_execution_id
                WHERE i.instance_id = p_instance AND e.status IN ('Completed', 'Failed'))
        ORDER BY q.id LIMIT p_messages_max FOR UPDATE SKIP LOCKED
    ), removed AS (
        DELETE FROM {schema}.orchestrator_queue q USING doomed
        WHERE q.instance_id = p_instance AND q.id = doomed.id RETURNING 1
    )
    SELECT count(*) INTO o_messages FROM removed;
    PERFORM {schema}.list_next_messages{v}(ARRAY[p_instance]);
END
$body$;
