-- Which of the instances that a fetch would lease, or those after them, make it fail, and why. Tries
-- each by itself and undoes it. `o_tried` is the number of those that were tried, in the last row.
CREATE OR REPLACE FUNCTION {schema}.find_unfetchable{v}(
    p_now BIGINT, p_tried_max INTEGER, p_from BYTEA[], p_to BYTEA[], p_code BYTEA[],
    p_node BIGINT, p_messages_max BIGINT, p_bytes_max BIGINT, p_alone_bytes BIGINT,
    p_fetch_bytes_max BIGINT, p_inline_events_max BIGINT, p_inline_bytes_max BIGINT,
    p_skip TEXT[]
) RETURNS TABLE (o_instance TEXT, o_error TEXT, o_tried INTEGER)
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off
AS $body$
DECLARE
    v_now BIGINT := coalesce(p_now, {schema}.now_ms());
    v_expired TEXT[];
    v_tried TEXT[];
    v_instance TEXT;
BEGIN
    BEGIN
        SELECT coalesce(array_agg(e.o_instance), '{}') INTO v_expired FROM (
            SELECT x.o_instance
            FROM {schema}.expired_turns{v}(v_now, p_from, p_to, p_code, p_skip) AS x
            LIMIT p_tried_max) AS e;
        SELECT v_expired || c.o_chosen INTO v_tried
        FROM {schema}.choose_turns{v}(v_now, p_tried_max, p_from, p_to, p_code, p_node, 0, p_skip)
            AS c;
    EXCEPTION WHEN OTHERS THEN
        -- The choice itself fails at one of them: it may be any that waits.
        SELECT coalesce(array_agg(DISTINCT w.instance_id), '{}') INTO v_tried FROM (
            (SELECT q.instance_id FROM {schema}.orchestrator_queue q
             WHERE NOT q.parked AND q.pin IS NOT NULL AND q.visible_at <= v_now
                 AND q.instance_id <> ALL (p_skip)
             ORDER BY q.pin, q.visible_at, q.id LIMIT p_tried_max)
            UNION ALL
            (SELECT l.instance_id FROM {schema}.instance_locks l
             WHERE l.locked_until <= v_now AND l.instance_id <> ALL (p_skip)
             ORDER BY l.locked_until, l.instance_id LIMIT p_tried_max)
        ) AS w;
    END;
    FOREACH v_instance IN ARRAY v_tried LOOP
        BEGIN
            -- As text, so that every value is read.
            PERFORM octet_length(t::TEXT) FROM {schema}.fetch_turns{v}(
                v_now, 1, 0, p_from, p_to, p_code, p_node, 0, p_messages_max, p_bytes_max,
                p_alone_bytes, p_fetch_bytes_max, p_inline_events_max, p_inline_bytes_max, FALSE,
                NULL, '{}', '{}', '{}', v_instance) AS t;
            RAISE EXCEPTION USING ERRCODE = 'DX002';
        EXCEPTION
            WHEN SQLSTATE 'DX002' THEN
                NULL;
            WHEN OTHERS THEN
                o_instance := v_instance;
                o_error := SQLERRM || ' [' || SQLSTATE || ']';
                RETURN NEXT;
        END;
    END LOOP;
    o_instance := NULL;
    o_error := NULL;
    o_tried := cardinality(v_tried);
    RETURN NEXT;
END
$body$;
