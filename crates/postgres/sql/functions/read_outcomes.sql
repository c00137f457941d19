-- The state of the latest executions of instances: the event that ended one, or else its first
-- event, which a caller may want in any case. Only cancellations follow a terminal event. While the
-- execution counts as running, the newest events are enough: they hold a terminal event only if
-- history was seeded without its status.
CREATE OR REPLACE FUNCTION {schema}.read_outcomes{v}(p_instances TEXT[], p_first_wanted BOOLEAN[])
RETURNS TABLE (o_place INTEGER, o_ended TEXT, o_first TEXT, o_custom TEXT, o_custom_version BIGINT)
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $body$
DECLARE
    v_execution BIGINT;
    v_status TEXT;
BEGIN
    FOR v_place IN 1..cardinality(p_instances) LOOP
        o_place := v_place;
        o_ended := NULL;
        o_first := NULL;
        SELECT i.current_execution_id, e.status, i.custom_status, i.custom_status_version
        INTO v_execution, v_status, o_custom, o_custom_version
        FROM {schema}.instances i LEFT JOIN {schema}.executions e
            ON e.instance_id = i.instance_id AND e.execution_id = i.current_execution_id
        WHERE i.instance_id = p_instances[v_place];
        IF NOT FOUND THEN
            IF EXISTS (
                SELECT 1 FROM {schema}.deletions d
                WHERE d.instance_id = p_instances[v_place] AND d.execution_id = 0)
            THEN
                RETURN NEXT;
                CONTINUE;
            END IF;
            v_execution := {schema}.current_execution{v}(p_instances[v_place]);
            SELECT e.status INTO v_status FROM {schema}.executions e
            WHERE e.instance_id = p_instances[v_place] AND e.execution_id = v_execution;
        END IF;
        SELECT l.event_data INTO o_ended FROM (
            SELECT h.event_type, h.event_data FROM {schema}.history h
            WHERE h.instance_id = p_instances[v_place] AND h.execution_id = v_execution
            ORDER BY h.event_id DESC LIMIT CASE v_status WHEN 'Running' THEN 16 END
        ) AS l
        WHERE l.event_type IN ('OrchestrationCompleted', 'OrchestrationFailed') LIMIT 1;
        IF NOT FOUND OR p_first_wanted[v_place] THEN
            SELECT h.event_data INTO o_first FROM {schema}.history h
            WHERE h.instance_id = p_instances[v_place] AND h.execution_id = v_execution
            ORDER BY h.event_id LIMIT 1;
        END IF;
        RETURN NEXT;
    END LOOP;
END
$body$;
