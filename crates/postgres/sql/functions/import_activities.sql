-- Adds activities of an instance that the same transaction imports.
CREATE OR REPLACE FUNCTION {schema}.import_activities{v}(
    p_now BIGINT, p_instance TEXT, w_item TEXT[], w_execution BIGINT[], w_activity BIGINT[],
    w_queued_at BIGINT[], w_visible_at BIGINT[], w_attempts INTEGER[], w_vouched INTEGER[],
    w_session TEXT[], w_route TEXT[], w_code TEXT[], w_start_by BIGINT[], w_progress TEXT[],
    w_progress_at BIGINT[], w_progress_attempt INTEGER[]
) RETURNS VOID
LANGUAGE plpgsql AS $body$
DECLARE
    v_now BIGINT := coalesce(p_now, {schema}.now_ms());
BEGIN
    INSERT INTO {schema}.worker_queue (work_item, created_at, visible_at, timed_at, instance_id,
        execution_id, activity_id, attempt_count, vouched, session_id, route, code, start_by,
        progress, progress_at, progress_attempt, lane)
    SELECT w.item, least(w.queued_at, v_now), w.visible_at,
        CASE WHEN w.visible_at > 0 THEN v_now END, p_instance, w.execution_id, w.activity_id,
        w.attempts, w.vouched, w.session_id, w.route, w.code, w.start_by, w.progress,
        w.progress_at, w.progress_attempt,
        -- The next fetch moves what was delayed, if its time has come.
        CASE WHEN w.visible_at > 0 THEN 2 WHEN w.session_id IS NOT NULL THEN 1 ELSE 0 END
    FROM unnest(w_item, w_execution, w_activity, w_queued_at, w_visible_at, w_attempts, w_vouched,
        w_session, w_route, w_code, w_start_by, w_progress, w_progress_at, w_progress_attempt)
        WITH ORDINALITY AS w (item, execution_id, activity_id, queued_at, visible_at, attempts,
            vouched, session_id, route, code, start_by, progress, progress_at, progress_attempt,
            place)
    ORDER BY w.place;
END
$body$;
