-- Deletes old executions of an instance, never the current or a running one: at most
-- `p_executions_max`. Removes at most `p_rows_max` of their events; what is left of an execution is
-- listed for removal under `p_deletion`. `o_unfinished` means that more executions may be left,
-- `o_hidden` that events are. Returns nulls if the instance does not exist.
CREATE OR REPLACE FUNCTION {schema}.prune_executions{v}(
    p_instance TEXT, p_keep_last BIGINT, p_completed_before BIGINT, p_executions_max BIGINT,
    p_rows_max BIGINT, p_deletion UUID,
    OUT o_executions BIGINT, OUT o_events BIGINT, OUT o_unfinished BOOLEAN, OUT o_hidden BOOLEAN
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
    WITH doomed AS MATERIALIZED (
        SELECT e.execution_id FROM {schema}.executions e
        WHERE e.instance_id = p_instance AND e.execution_id < v_kept_from
            AND e.status <> 'Running'
            AND (p_completed_before IS NULL OR e.completed_at < p_completed_before)
        ORDER BY e.execution_id LIMIT p_executions_max
    ), deleted AS (
        DELETE FROM {schema}.executions e USING doomed
        WHERE e.instance_id = p_instance AND e.execution_id = doomed.execution_id
        RETURNING e.execution_id)
    SELECT coalesce(array_agg(d.execution_id), '{}') INTO v_doomed FROM deleted d;
    o_executions := cardinality(v_doomed);
    DELETE FROM {schema}.history h USING (
        SELECT s.execution_id, s.event_id FROM {schema}.history s
        WHERE s.instance_id = p_instance AND s.execution_id = ANY (v_doomed)
        LIMIT p_rows_max) AS slice
    WHERE h.instance_id = p_instance AND h.execution_id = slice.execution_id
        AND h.event_id = slice.event_id;
    GET DIAGNOSTICS o_events = ROW_COUNT;
    o_hidden := FALSE;
    IF o_events >= p_rows_max THEN
        INSERT INTO {schema}.deletions
            (instance_id, execution_id, deletion, last_message, ids_until, has_starts, touched_at)
        SELECT p_instance, d.execution_id, p_deletion, 0, 0, FALSE, clock_timestamp()
        FROM unnest(v_doomed) AS d (execution_id)
        WHERE (
            SELECT 1 FROM {schema}.history h
            WHERE h.instance_id = p_instance AND h.execution_id = d.execution_id LIMIT 1) = 1
        ON CONFLICT (instance_id, execution_id) DO NOTHING;
        o_hidden := FOUND;
    END IF;
    o_unfinished := o_executions >= p_executions_max;
END
$body$;
