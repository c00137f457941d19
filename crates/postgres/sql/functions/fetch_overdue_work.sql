-- Leases activities that no worker started in time, the longest overdue first. The last row carries
-- the server's time and the time of the next poll.
CREATE OR REPLACE FUNCTION {schema}.fetch_overdue_work{v}(
    p_now BIGINT, p_work_max BIGINT, p_lock_for BIGINT
) RETURNS TABLE (
    o_slot INTEGER, o_id BIGINT, o_token UUID, o_item TEXT, o_attempts INTEGER, o_instance TEXT,
    o_execution BIGINT, o_activity BIGINT, o_session TEXT, o_claimed BOOLEAN, o_due BIGINT,
    o_progress TEXT, o_overdue BIGINT, o_now BIGINT
)
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off
AS $body$
DECLARE
    v_now BIGINT := coalesce(p_now, {schema}.now_ms());
    v_ids BIGINT[];
    v_due BIGINT;
BEGIN
    SELECT array_agg(o.id ORDER BY o.start_by) INTO v_ids FROM (
        SELECT q.id, q.start_by FROM {schema}.worker_queue q
        WHERE q.start_by IS NOT NULL AND NOT q.starting AND q.start_by <= v_now
            AND (q.locked_until IS NULL OR q.locked_until <= v_now)
        ORDER BY q.start_by LIMIT p_work_max FOR UPDATE SKIP LOCKED) AS o;
    IF v_ids IS NOT NULL THEN
        RETURN QUERY
        UPDATE {schema}.worker_queue q SET lock_token = gen_random_uuid(),
            locked_until = v_now + p_lock_for, timed_at = v_now,
            attempt_count = q.attempt_count + 1
        FROM unnest(v_ids) WITH ORDINALITY AS t (id, place)
        WHERE q.id = t.id
        RETURNING t.place::INTEGER - 1, q.id, q.lock_token, q.work_item, q.attempt_count,
            q.instance_id, q.execution_id, q.activity_id, q.session_id, FALSE, NULL::BIGINT,
            q.progress, q.start_by - q.created_at, NULL::BIGINT;
    ELSE
        SELECT min(d.due) INTO v_due FROM (
            SELECT min(q.start_by) AS due FROM {schema}.worker_queue q
            WHERE q.start_by IS NOT NULL AND NOT q.starting AND q.start_by > v_now
            UNION ALL
            SELECT min(q.locked_until) FROM {schema}.worker_queue q
            WHERE q.start_by IS NOT NULL AND NOT q.starting AND q.start_by <= v_now
                AND q.locked_until > v_now
        ) AS d;
    END IF;
    o_slot := NULL;
    o_now := v_now;
    o_due := v_due;
    RETURN NEXT;
END
$body$;
