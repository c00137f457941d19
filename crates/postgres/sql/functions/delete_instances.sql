-- Deletes exactly these instances for all callers, all or none, and removes what a slice allows. A
-- refusal names the instance that runs, or the parent and the child that the list lacks; with
-- `p_cascade` such children are deleted too. `o_gone` says that another deletion of `p_root` was
-- first, and nothing was done. `o_unfinished` means that rows are left to remove; for the others see
-- `remove_deleted`.
CREATE OR REPLACE FUNCTION {schema}.delete_instances{v}(
    p_now BIGINT, p_ids TEXT[], p_root TEXT, p_force BOOLEAN, p_cascade BOOLEAN,
    p_deletion UUID, p_window BIGINT, p_slice BIGINT,
    OUT o_gone BOOLEAN, OUT o_running TEXT, OUT o_parent TEXT, OUT o_child TEXT,
    OUT o_instances BIGINT, OUT o_executions BIGINT, OUT o_events BIGINT, OUT o_messages BIGINT,
    OUT o_freed BOOLEAN, OUT o_unfinished BOOLEAN
)
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $body$
DECLARE
    v_now BIGINT := coalesce(p_now, {schema}.now_ms());
    v_instances BIGINT;
BEGIN
    PERFORM {schema}.lock_for_deletion{v}(p_ids);
    o_gone := p_root IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM {schema}.instances i WHERE i.instance_id = p_root);
    IF o_gone THEN
        RETURN;
    END IF;
    IF NOT p_force THEN
        o_running := {schema}.first_running{v}(p_ids);
    END IF;
    IF NOT p_cascade THEN
        SELECT i.parent_instance_id, i.instance_id INTO o_parent, o_child
        FROM {schema}.instances i
        WHERE i.parent_instance_id = ANY (p_ids) AND i.instance_id <> ALL (p_ids)
        ORDER BY array_position(p_ids, i.parent_instance_id), i.created_at, i.number LIMIT 1;
    END IF;
    IF o_running IS NOT NULL OR o_child IS NOT NULL THEN
        RETURN;
    END IF;
    v_instances := {schema}.hide_instances{v}(v_now, p_ids, p_deletion, p_window);
    -- No later one can have used them yet.
    DELETE FROM {schema}.message_ids m USING (
        SELECT d.instance_id, d.message_id FROM {schema}.message_ids d
        WHERE d.instance_id = ANY (p_ids) LIMIT 1000) AS ids
    WHERE m.instance_id = ids.instance_id AND m.message_id = ids.message_id;
    SELECT v_instances + s.o_instances, s.o_executions, s.o_events, s.o_messages, s.o_freed,
        s.o_unfinished
    INTO o_instances, o_executions, o_events, o_messages, o_freed, o_unfinished
    FROM {schema}.remove_deleted{v}(v_now, p_deletion, p_window, p_slice, 0) AS s;
END
$body$;
