-- Deletes old executions of an instance, never the current or a running one: at most `p_rows_max`
-- rows of each table, so that no call takes long. `o_unfinished` means that more may be left.
-- Returns nulls if the instance does not exist.
CREATE OR REPLACE FUNCTION {schema}.prune_executions{v}(
    p_instance TEXT, p_keep_last BIGINT, p_completed_before BIGINT, p_rows_max BIGINT,
    OUT o_executions BIGINT, OUT o_events BIGINT, OUT o_unfinished BOOLEAN
)
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $body$
DECLARE
    v_current BIGINT;
    v_kept_from BIGINT;
    v_doomed BIGINT[];
BEGIN
    -- Prevents the deletion of the instance, and holds up no commit of it.
    SELECT i.current_execution_id INTO v_current FROM {schema}.instances i
    WHERE i.instance_id = p_instance FOR KEY SHARE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    v_kept_from := v_current;
    IF p_keep_last > 0 THEN
        SELECT least(v_current, min(k.execution_id)) INTO v_kept_from FROM (
            SELECT e.execution_id FROM {schema}.executions e WHERE e.instance_id = p_instance
            ORDER BY e.execution_id DESC LIMIT p_keep_last) AS k;
    END IF;
    SELECT coalesce(array_agg(d.execution_id), '{}') INTO v_doomed FROM (
        SELECT e.execution_id FROM {schema}.executions e
        WHERE e.instance_id = p_instance AND e.execution_id < v_kept_from
            AND e.status <> 'Running'
            AND (p_completed_before IS NULL OR e.completed_at < p_completed_before)
        ORDER BY e.execution_id LIMIT p_rows_max) AS d;
    DELETE FROM {schema}.history h USING (
        SELECT s.execution_id, s.event_id FROM {schema}.history s
        WHERE s.instance_id = p_instance AND s.execution_id = ANY (v_doomed)
        LIMIT p_rows_max) AS slice
    WHERE h.instance_id = p_instance AND h.execution_id = slice.execution_id
        AND h.event_id = slice.event_id;
    GET DIAGNOSTICS o_events = ROW_COUNT;
    -- An execution goes after its events, so that a call that is not repeated loses none of them.
    DELETE FROM {schema}.executions e
    WHERE e.instance_id = p_instance AND e.execution_id = ANY (v_doomed)
        AND (o_events < p_rows_max OR NOT EXISTS (
            SELECT 1 FROM {schema}.history h
            WHERE h.instance_id = p_instance AND h.execution_id = e.execution_id));
    GET DIAGNOSTICS o_executions = ROW_COUNT;
    o_unfinished := o_events >= p_rows_max OR cardinality(v_doomed) >= p_rows_max;
END
$body$;
