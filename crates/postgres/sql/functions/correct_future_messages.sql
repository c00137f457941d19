-- Corrects messages that carry a time of arrival in the future, because the server's clock was set
-- back: they are visible at once, or after their own delay. A timer has a time of its own, which
-- stays. Returns how many. Unless `p_all` is set, it reads only messages that are listed or belong
-- to suspended instances, and what stands behind those that it corrects.
CREATE OR REPLACE FUNCTION {schema}.correct_future_messages{v}(
    p_now BIGINT, p_all BOOLEAN, OUT o_count BIGINT
)
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $body$
DECLARE
    c_timer CONSTANT TEXT := '__TimerFired_%';
    c_margin CONSTANT BIGINT := 1000;
    v_now BIGINT := coalesce(p_now, {schema}.now_ms());
    -- See `future`.
    v_future BIGINT := v_now + c_margin;
    v_instances TEXT[];
BEGIN
    WITH RECURSIVE pins (pin) AS (
        (SELECT q.pin FROM {schema}.orchestrator_queue q
         WHERE NOT q.parked AND q.pin IS NOT NULL ORDER BY q.pin LIMIT 1)
        UNION ALL
        SELECT (SELECT q.pin FROM {schema}.orchestrator_queue q
                WHERE NOT q.parked AND q.pin > p.pin ORDER BY q.pin LIMIT 1)
        FROM pins p WHERE p.pin IS NOT NULL
    )
    SELECT array_agg(DISTINCT f.instance_id) INTO v_instances FROM (
        SELECT l.instance_id FROM pins p
        CROSS JOIN LATERAL (
            SELECT q.instance_id FROM {schema}.orchestrator_queue q
            WHERE NOT q.parked AND q.pin = p.pin AND q.visible_at > v_future
                AND coalesce(q.timed_at, q.created_at) > v_future
                AND (q.timed_at IS NOT NULL OR q.work_item NOT LIKE c_timer)) AS l
        UNION ALL
        SELECT k.instance_id FROM {schema}.instance_locks k
        WHERE k.locked_until > v_now AND cardinality(k.message_ids) = 0
    ) AS f;
    o_count := 0;
    IF p_all THEN
        v_future := coalesce(p_now, {schema}.now_ms()) + c_margin;
        SELECT array_agg(DISTINCT q.instance_id) INTO v_instances
        FROM {schema}.orchestrator_queue q
        WHERE NOT q.parked AND q.visible_at > v_future
            AND coalesce(q.timed_at, q.created_at) > v_future;
    END IF;
    v_now := coalesce(p_now, {schema}.now_ms());
    v_future := v_now + c_margin;
    IF v_instances IS NOT NULL THEN
        UPDATE {schema}.orchestrator_queue q SET
            visible_at = v_now + (q.visible_at - coalesce(q.timed_at, q.created_at)),
            created_at = least(q.created_at, v_now),
            timed_at = CASE WHEN q.timed_at IS NOT NULL THEN v_now END
        WHERE q.instance_id = ANY (v_instances) AND NOT q.parked AND q.visible_at > v_future
            AND coalesce(q.timed_at, q.created_at) > v_future
            AND (q.timed_at IS NOT NULL OR q.work_item NOT LIKE c_timer);
        GET DIAGNOSTICS o_count = ROW_COUNT;
    END IF;
END
$body$;
