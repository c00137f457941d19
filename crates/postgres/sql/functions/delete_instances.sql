-- Deletes instances for all callers, all or none, and removes what a slice allows. Listed ids
-- without an instance are left alone: a start that waits there belongs to a new instance. Without
-- `p_roots`, exactly the listed instances are deleted; with it, the trees of these roots: what is
-- listed and no longer belongs to one is left alone, too. `o_gone` says that a root is not there any
-- more, or not the same incarnation and execution, and nothing was done. A refusal names the
-- instance that runs, or the parent and the child that the list lacks; with `p_cascade` such
-- children are deleted too. `o_unfinished` means that rows are left to remove; for the others see
-- `remove_deleted`.
CREATE OR REPLACE FUNCTION {schema}.delete_instances{v}(
    p_now BIGINT, p_ids TEXT[], p_roots TEXT[], p_incarnations BIGINT[], p_executions BIGINT[],
    p_force BOOLEAN, p_cascade BOOLEAN, p_deletion UUID, p_window BIGINT, p_slice BIGINT,
    OUT o_gone TEXT, OUT o_running TEXT, OUT o_parent TEXT, OUT o_child TEXT,
    OUT o_instances BIGINT, OUT o_executions BIGINT, OUT o_events BIGINT, OUT o_messages BIGINT,
    OUT o_freed BOOLEAN, OUT o_unfinished BOOLEAN
)
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $body$
DECLARE
    v_now BIGINT := coalesce(p_now, {schema}.now_ms());
    v_ids TEXT[];
    v_others TEXT[];
    v_instances BIGINT;
BEGIN
    PERFORM {schema}.lock_for_deletion{v}(p_ids);
    SELECT r.instance_id INTO o_gone
    FROM unnest(p_roots, p_incarnations, p_executions) AS r (instance_id, incarnation, execution_id)
    LEFT JOIN {schema}.instances i ON i.instance_id = r.instance_id
    WHERE i.instance_id IS NULL OR i.incarnation <> r.incarnation
        OR i.current_execution_id <> r.execution_id
    LIMIT 1;
    IF o_gone IS NOT NULL THEN
        RETURN;
    END IF;
    SELECT coalesce(array_agg(i.instance_id ORDER BY array_position(p_ids, i.instance_id)), '{}')
    INTO v_ids FROM {schema}.instances i
    WHERE i.instance_id = ANY (p_ids)
        AND (p_roots IS NULL OR i.instance_id = ANY (p_roots)
            OR i.parent_instance_id = ANY (p_ids)
            -- Its parent was in an earlier part of the list.
            OR EXISTS (
                SELECT 1 FROM {schema}.deletions d
                WHERE d.instance_id = i.parent_instance_id AND d.execution_id = 0
                    AND d.deletion = p_deletion));
    IF NOT p_force THEN
        o_running := {schema}.first_running{v}(v_ids);
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
    v_instances := {schema}.hide_instances{v}(v_now, v_ids, p_deletion, p_window);
    -- No later one can have used them yet.
    DELETE FROM {schema}.message_ids m USING (
        SELECT d.instance_id, d.message_id FROM {schema}.message_ids d
        WHERE d.instance_id = ANY (v_ids) LIMIT 1000) AS ids
    WHERE m.instance_id = ids.instance_id AND m.message_id = ids.message_id;
    SELECT v_instances + s.o_instances, s.o_executions, s.o_events, s.o_messages, s.o_freed,
        s.o_unfinished
    INTO o_instances, o_executions, o_events, o_messages, o_freed, o_unfinished
    FROM {schema}.remove_deleted{v}(v_now, p_deletion, p_window, p_slice, 0) AS s;
    SELECT array_agg(u.id) INTO v_others FROM unnest(p_ids) AS u (id) WHERE u.id <> ALL (v_ids);
    IF v_others IS NOT NULL THEN
        -- A long list has kept them from running.
        PERFORM {schema}.release_reserved{v}(v_others, p_deletion);
        o_freed := TRUE;
    END IF;
END
$body$;
