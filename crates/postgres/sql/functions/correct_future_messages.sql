-- Makes messages visible that carry a time of arrival in the future, because the server's clock was
-- set back. Other messages have a time that was asked for, which stays. Returns how many.
CREATE OR REPLACE FUNCTION {schema}.correct_future_messages{v}(p_now BIGINT, OUT o_count BIGINT)
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $body$
DECLARE
    v_now BIGINT := coalesce(p_now, {schema}.now_ms());
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
    SELECT array_agg(DISTINCT f.instance_id) INTO v_instances FROM pins p
    CROSS JOIN LATERAL (
        SELECT q.instance_id FROM {schema}.orchestrator_queue q
        WHERE NOT q.parked AND q.pin = p.pin AND q.visible_at > v_now
            AND q.visible_at = q.created_at) AS f;
    o_count := 0;
    IF v_instances IS NOT NULL THEN
        -- With those that stand behind them.
        UPDATE {schema}.orchestrator_queue q SET visible_at = v_now, created_at = v_now
        WHERE q.instance_id = ANY (v_instances) AND NOT q.parked AND q.visible_at > v_now
            AND q.visible_at = q.created_at;
        GET DIAGNOSTICS o_count = ROW_COUNT;
    END IF;
END
$body$;
