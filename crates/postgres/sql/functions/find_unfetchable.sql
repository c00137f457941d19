-- Which of the instances that a fetch would lease, or those after them, make it fail, and why. Tries
-- each by itself and undoes it, at least `p_tried_max` of them and on until one fails. Then those
-- whose messages a fetch would sort anew. `o_tried` is the number of those that were tried, in the
-- last row.
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
    -- As many messages as `choose_turns` reads at most.
    c_read CONSTANT INTEGER := 1024;
    v_now BIGINT := coalesce(p_now, {schema}.now_ms());
    v_expired TEXT[];
    v_tried TEXT[];
    v_instance TEXT;
    v_count INTEGER := 0;
    v_found BOOLEAN := FALSE;
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
        -- The choice itself fails at one of them: it may be any that it reads.
        SELECT coalesce(array_agg(e.instance_id), '{}') INTO v_expired FROM (
            SELECT l.instance_id FROM {schema}.instance_locks l
            WHERE l.locked_until <= v_now AND l.instance_id <> ALL (p_skip)
            ORDER BY l.locked_until, l.instance_id LIMIT p_tried_max) AS e;
        WITH RECURSIVE pins (pin) AS (
            (SELECT q.pin FROM {schema}.orchestrator_queue q
             WHERE NOT q.parked AND q.pin IS NOT NULL ORDER BY q.pin LIMIT 1)
            UNION ALL
            SELECT (SELECT q.pin FROM {schema}.orchestrator_queue q
                    WHERE NOT q.parked AND q.pin >= {schema}.route_behind{v}(p.pin, p_code)
                    ORDER BY q.pin LIMIT 1)
            FROM pins p WHERE p.pin IS NOT NULL
        ), listed AS (
            SELECT w.instance_id, w.visible_at, w.id FROM pins p
            CROSS JOIN LATERAL (
                SELECT q.instance_id, q.visible_at, q.id FROM {schema}.orchestrator_queue q
                WHERE NOT q.parked AND q.pin = p.pin AND q.visible_at <= v_now
                    AND q.instance_id <> ALL (p_skip)
                    AND (
                        SELECT 1 FROM {schema}.instance_locks l
                        WHERE l.instance_id = q.instance_id) IS NULL
                ORDER BY q.visible_at, q.id LIMIT c_read) AS w
            WHERE p.pin < '\x01' OR {schema}.route_fits{v}(p.pin, p_from, p_to, p_code)
            ORDER BY w.visible_at, w.id LIMIT c_read
        )
        SELECT v_expired || coalesce(array_agg(w.instance_id ORDER BY w.place), '{}')
        INTO v_tried FROM (
            SELECT l.instance_id, min(ARRAY[l.visible_at, l.id]) AS place FROM listed l
            GROUP BY l.instance_id) AS w;
    END;
    FOREACH v_instance IN ARRAY v_tried LOOP
        EXIT WHEN v_found AND v_count >= p_tried_max;
        v_count := v_count + 1;
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
                v_found := TRUE;
                RETURN NEXT;
        END;
    END LOOP;
    FOR v_instance IN
        SELECT DISTINCT r.instance_id FROM {schema}.repinned r
        WHERE r.instance_id <> ALL (p_skip) LIMIT c_read
    LOOP
        v_count := v_count + 1;
        BEGIN
            PERFORM {schema}.forget_routes{v}(ARRAY[v_instance]);
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
    o_tried := v_count;
    RETURN NEXT;
END
$body$;
