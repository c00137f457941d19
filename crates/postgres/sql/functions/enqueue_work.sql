-- Adds activities for clients, visible at once.
CREATE OR REPLACE FUNCTION {schema}.enqueue_work{v}(
    p_now BIGINT, w_instance TEXT[], w_execution BIGINT[], w_activity BIGINT[], w_session TEXT[],
    w_route TEXT[], w_code TEXT[], w_item TEXT[], p_sender UUID, p_number BIGINT,
    OUT o_now BIGINT
)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET jit = off AS $body$
DECLARE
    v_now BIGINT := coalesce(p_now, {schema}.now_ms());
BEGIN
    PERFORM {schema}.record_sending{v}(v_now, p_sender, p_number);
    INSERT INTO {schema}.worker_queue (work_item, created_at, instance_id, execution_id,
        activity_id, session_id, route, code, lane)
    SELECT w.item, v_now, w.instance_id, w.execution_id, w.activity_id, w.session_id, w.route,
        w.code, (w.session_id IS NOT NULL)::INTEGER
    FROM unnest(w_instance, w_execution, w_activity, w_session, w_route, w_code, w_item)
        AS w (instance_id, execution_id, activity_id, session_id, route, code, item);
    o_now := v_now;
END
$body$;
