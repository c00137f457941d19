-- Deletes starts of children whose parent was deleted, unless they have run.
CREATE OR REPLACE FUNCTION {schema}.delete_pending_starts{v}(
    p_instances TEXT[], p_ids BIGINT[],
    OUT o_messages BIGINT
)
LANGUAGE plpgsql AS $body$
BEGIN
    PERFORM {schema}.lock_instances{v}(p_instances);
    DELETE FROM {schema}.orchestrator_queue q
    USING unnest(p_instances, p_ids) AS p (instance_id, id)
    WHERE q.instance_id = p.instance_id AND q.id = p.id AND NOT EXISTS (
        SELECT 1 FROM {schema}.instances i WHERE i.instance_id = p.instance_id);
    GET DIAGNOSTICS o_messages = ROW_COUNT;
    -- Without its lease a first turn in flight cannot create the child.
    DELETE FROM {schema}.instance_locks l
    -- One without messages belongs to the deletion of an earlier instance of that id.
    WHERE l.instance_id = ANY (p_instances) AND cardinality(l.message_ids) > 0 AND NOT EXISTS (
        SELECT 1 FROM {schema}.instances i WHERE i.instance_id = l.instance_id);
END
$body$;
