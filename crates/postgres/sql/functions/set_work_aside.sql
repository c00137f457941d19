-- Finds activities that make every fetch fail, and delays them: tries the first that a fetch may
-- read, each by itself, and undoes it. If all fail, the reason is probably another, and they stay,
-- unless `p_even_all`.
CREATE OR REPLACE FUNCTION {schema}.set_work_aside{v}(
    p_now BIGINT, p_tried_max INTEGER, p_pause BIGINT, p_even_all BOOLEAN
) RETURNS TABLE (o_instance TEXT, o_activity BIGINT, o_error TEXT)
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off
AS $body$
DECLARE
    v_now BIGINT := coalesce(p_now, {schema}.now_ms());
    v_id BIGINT;
    v_tried INTEGER := 0;
    v_failed BIGINT[] := '{}';
    v_errors TEXT[] := '{}';
BEGIN
    FOR v_id IN
        SELECT w.id FROM unnest({schema}.ready_routes{v}()) AS r (route)
        CROSS JOIN generate_series(0, 1) AS l (lane)
        CROSS JOIN LATERAL (
            SELECT q.id FROM {schema}.worker_queue q
            WHERE q.locked_until IS NULL AND q.route = r.route AND q.lane = l.lane
            ORDER BY q.id LIMIT p_tried_max) AS w
        UNION
        (SELECT q.id FROM {schema}.worker_queue q
         WHERE q.session_id IS NOT NULL AND q.locked_until IS NULL AND q.visible_at = 0
         LIMIT p_tried_max)
        UNION
        (SELECT q.id FROM {schema}.worker_queue q
         WHERE q.visible_at > 0 AND q.visible_at <= v_now ORDER BY q.visible_at LIMIT p_tried_max)
        UNION
        (SELECT q.id FROM {schema}.worker_queue q
         WHERE q.locked_until <= v_now ORDER BY q.locked_until LIMIT p_tried_max)
        UNION
        (SELECT q.id FROM {schema}.worker_queue q
         WHERE q.start_by IS NOT NULL AND NOT q.starting AND q.start_by <= v_now
             AND (q.locked_until IS NULL OR q.locked_until <= v_now)
         ORDER BY q.start_by LIMIT p_tried_max)
    LOOP
        BEGIN
            PERFORM 1 FROM {schema}.worker_queue q WHERE q.id = v_id FOR UPDATE SKIP LOCKED;
            CONTINUE WHEN NOT FOUND;
            v_tried := v_tried + 1;
            -- As text, so that every value is read.
            PERFORM octet_length(q::TEXT) FROM {schema}.worker_queue q WHERE q.id = v_id;
            UPDATE {schema}.worker_queue q
            SET lock_token = gen_random_uuid(), locked_until = v_now WHERE q.id = v_id;
            RAISE EXCEPTION USING ERRCODE = 'DX002';
        EXCEPTION
            WHEN SQLSTATE 'DX002' THEN
                NULL;
            WHEN OTHERS THEN
                v_failed := v_failed || v_id;
                v_errors := v_errors || (SQLERRM || ' [' || SQLSTATE || ']');
        END;
    END LOOP;
    IF cardinality(v_failed) < v_tried OR p_even_all THEN
        FOR v_place IN 1..cardinality(v_failed) LOOP
            BEGIN
                -- What it holds is not read here. Without code, no fetch tries to find it out.
                UPDATE {schema}.worker_queue q
                SET visible_at = v_now + p_pause, timed_at = v_now, lane = 2, lock_token = NULL,
                    locked_until = NULL, code = coalesce(q.code, ''),
                    -- What is overdue is fetched even while it is delayed.
                    start_by = CASE WHEN q.start_by <= v_now THEN v_now + p_pause
                        ELSE q.start_by END
                WHERE q.id = v_failed[v_place]
                RETURNING q.instance_id, q.activity_id, v_errors[v_place]
                INTO o_instance, o_activity, o_error;
                RETURN NEXT;
            EXCEPTION WHEN OTHERS THEN
                -- It cannot even be delayed: the caller reports the error of the fetch.
                NULL;
            END;
        END LOOP;
    END IF;
END
$body$;
