-- Commits one direct turn that completes one activity and schedules one or none, as `commit_turns`
-- would: a step of a chain, or its end. Without arrays of every kind it takes the server half the
-- time. A null instance warms up: every statement runs on no rows.
CREATE OR REPLACE FUNCTION {schema}.commit_step{v}(
    p_now BIGINT, p_node BIGINT, p_instance TEXT, p_token UUID, p_execution BIGINT, p_name TEXT,
    p_version TEXT, p_status TEXT, p_output TEXT, p_ends BOOLEAN, p_custom_set BOOLEAN,
    p_custom TEXT, d_incarnation BIGINT, d_execution BIGINT, d_event BIGINT,
    d_commit BIGINT, f_id BIGINT, f_token UUID, e_id BIGINT[], e_type TEXT[], e_data TEXT[],
    e_commit BIGINT[],
    w_instance TEXT, w_execution BIGINT, w_activity BIGINT, w_session TEXT, w_route TEXT,
    w_code TEXT, w_item TEXT, w_token UUID, w_lock_for BIGINT, w_limit BIGINT,
    OUT o_now BIGINT, OUT o_code INTEGER, OUT o_incarnation BIGINT, OUT o_custom TEXT,
    OUT o_custom_version BIGINT, OUT o_work_id BIGINT
)
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $body$
DECLARE
    v_now BIGINT := coalesce(p_now, {schema}.now_ms());
    v_warm_up BOOLEAN := p_instance IS NULL;
    v_session TEXT;
    v_keyed BOOLEAN;
    v_waiting BOOLEAN;
BEGIN
    o_now := v_now;
    o_code := {NOT_CURRENT};
    -- Until the transaction ends, no fetch leases the instance. If a fetch holds the lock now, it
    -- goes first.
    IF NOT pg_try_advisory_xact_lock({schema}.instance_key(p_instance)) THEN
        RETURN;
    END IF;
    UPDATE {schema}.instances i SET
        orchestration_name = coalesce(p_name, i.orchestration_name),
        orchestration_version = coalesce(p_version, i.orchestration_version),
        current_execution_id = greatest(i.current_execution_id, p_execution),
        updated_at = v_now,
        custom_status = CASE WHEN p_custom_set THEN p_custom ELSE i.custom_status END,
        custom_status_version = i.custom_status_version + p_custom_set::INTEGER,
        warm_node = p_node,
        last_turn = p_token,
        suspended_since = NULL
    WHERE i.instance_id = p_instance
        AND i.incarnation = d_incarnation
        AND i.current_execution_id = d_execution
        AND coalesce((
            SELECT h.event_id = d_event AND coalesce(h.commit_id = d_commit, d_commit IS NULL)
            FROM {schema}.history h
            WHERE h.instance_id = p_instance AND h.execution_id = d_execution
            ORDER BY h.event_id DESC LIMIT 1), d_event = 0 AND d_commit IS NULL)
        AND (
            SELECT 1 FROM {schema}.instance_locks l
            WHERE l.instance_id = p_instance AND l.locked_until > v_now) IS NULL
        AND (
            SELECT 1 FROM {schema}.orchestrator_queue q
            WHERE q.instance_id = p_instance AND q.visible_at <= v_now AND NOT q.parked
            LIMIT 1) IS NULL
    RETURNING i.incarnation, i.custom_status, i.custom_status_version
    INTO o_incarnation, o_custom, o_custom_version;
    IF NOT FOUND AND NOT v_warm_up THEN
        RETURN;
    END IF;
    DELETE FROM {schema}.worker_queue q
    WHERE q.id = f_id AND q.lock_token = f_token AND q.locked_until > v_now
    RETURNING q.session_id INTO v_session;
    IF NOT FOUND AND NOT v_warm_up THEN
        RAISE EXCEPTION 'a finished activity is gone or its lease has run out'
            USING ERRCODE = 'DX001';
    END IF;
    IF v_session IS NOT NULL THEN
        PERFORM {schema}.touch_sessions{v}(v_now, ARRAY[v_session]);
    END IF;
    IF p_status IS NOT NULL OR v_warm_up THEN
        INSERT INTO {schema}.executions
            (instance_id, execution_id, status, output, started_at, completed_at)
        SELECT p_instance, p_execution, p_status, p_output, v_now, v_now WHERE NOT v_warm_up
        ON CONFLICT (instance_id, execution_id) DO UPDATE SET
            status = excluded.status, output = excluded.output,
            completed_at = excluded.completed_at;
    END IF;
    -- Two events at a time: a step has two, and an array of all takes longer to read.
    FOR v_place IN 1..greatest(cardinality(e_id), v_warm_up::INTEGER) BY 2 LOOP
        INSERT INTO {schema}.history
            (instance_id, execution_id, event_id, event_type, event_data, created_at, commit_id)
        SELECT p_instance, p_execution, e_id[p.place], e_type[p.place], e_data[p.place], v_now,
            e_commit[p.place]
        FROM (VALUES (v_place), (v_place + 1)) AS p (place)
        WHERE p.place <= cardinality(e_id) AND NOT v_warm_up;
    END LOOP;
    IF p_ends OR p_status IS NOT NULL OR v_warm_up THEN
        -- Most instances leave neither values nor messages.
        SELECT p_ends AND (
                SELECT 1 FROM {schema}.kv_delta d WHERE d.instance_id = p_instance LIMIT 1) = 1,
            p_status IS NOT NULL AND (
                SELECT 1 FROM {schema}.orchestrator_queue q WHERE q.instance_id = p_instance
                LIMIT 1) = 1
        INTO v_keyed, v_waiting;
        IF v_keyed THEN
            PERFORM {schema}.merge_kv{v}(ARRAY[1], ARRAY[p_instance], ARRAY[TRUE]);
        END IF;
        IF v_waiting THEN
            PERFORM {schema}.forget_routes{v}(ARRAY[p_instance]);
        END IF;
    END IF;
    IF w_item IS NOT NULL OR v_warm_up THEN
        INSERT INTO {schema}.worker_queue (work_item, created_at, instance_id, execution_id,
            activity_id, session_id, route, code, lock_token, locked_until, timed_at,
            attempt_count, lane, start_by)
        SELECT w_item, v_now, w_instance, w_execution, w_activity, w_session, w_route, w_code,
            w_token, v_now + w_lock_for, v_now, (w_token IS NOT NULL)::INTEGER,
            (w_session IS NOT NULL)::INTEGER, CASE WHEN w_token IS NULL THEN v_now + w_limit END
        WHERE NOT v_warm_up
        RETURNING worker_queue.id INTO o_work_id;
    END IF;
    o_code := {COMMITTED};
END
$body$;
