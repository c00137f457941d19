-- Commits the first turn of one instance that has no parent and schedules one activity or none, as
-- `commit_turns` would. Without arrays of every kind it takes the server half the time. A null
-- instance warms up: every statement runs on no rows.
CREATE OR REPLACE FUNCTION {schema}.commit_first_turn{v}(
    p_now BIGINT, p_node BIGINT, p_instance TEXT, p_token UUID, p_execution BIGINT, p_name TEXT,
    p_version TEXT, p_incarnation BIGINT, p_pin TEXT, p_pin_key BYTEA, p_status TEXT,
    p_output TEXT, p_custom_set BOOLEAN, p_custom TEXT,
    e_id BIGINT[], e_type TEXT[], e_data TEXT[], e_commit BIGINT[],
    w_instance TEXT, w_execution BIGINT, w_activity BIGINT, w_session TEXT, w_route TEXT,
    w_code TEXT, w_item TEXT, w_token UUID, w_lock_for BIGINT, w_limit BIGINT,
    OUT o_now BIGINT, OUT o_code INTEGER, OUT o_incarnation BIGINT, OUT o_custom TEXT,
    OUT o_custom_version BIGINT, OUT o_work_id BIGINT, OUT o_ready BOOLEAN
)
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $body$
DECLARE
    v_now BIGINT := coalesce(p_now, {schema}.now_ms());
    v_warm_up BOOLEAN := p_instance IS NULL;
    v_stored BOOLEAN;
    v_waiting BOOLEAN;
BEGIN
    o_now := v_now;
    o_code := {NOT_FIRST};
    -- Until the transaction ends, no other transaction starts the instance or sets its messages
    -- aside. If another one holds the lock now, it goes first. The next statement sees everything
    -- that was committed before this one got the lock.
    IF NOT pg_try_advisory_xact_lock({schema}.instance_key(p_instance)) THEN
        RETURN;
    END IF;
    SELECT (SELECT 1 FROM {schema}.history h WHERE h.instance_id = p_instance LIMIT 1) = 1
            -- While an instance of that id is being deleted, what is stored goes with it.
            OR (SELECT 1 FROM {schema}.instance_locks l WHERE l.instance_id = p_instance) = 1,
        (SELECT 1 FROM {schema}.orchestrator_queue q WHERE q.instance_id = p_instance LIMIT 1) = 1
    INTO v_stored, v_waiting;
    IF v_stored THEN
        RETURN;
    END IF;
    IF v_waiting AND (
        SELECT 1 FROM {schema}.orchestrator_queue q
        WHERE q.instance_id = p_instance AND NOT q.parked LIMIT 1) = 1
    THEN
        RETURN;
    END IF;
    INSERT INTO {schema}.instances AS i (instance_id, orchestration_name, orchestration_version,
        current_execution_id, created_at, updated_at, custom_status, custom_status_version,
        incarnation, warm_node, last_turn)
    SELECT p_instance, p_name, p_version, p_execution, v_now, v_now,
        CASE WHEN p_custom_set THEN p_custom END, p_custom_set::INTEGER, p_incarnation, p_node,
        p_token
    WHERE NOT v_warm_up
    ON CONFLICT (instance_id) DO NOTHING
    RETURNING i.incarnation, i.custom_status, i.custom_status_version
    INTO o_incarnation, o_custom, o_custom_version;
    IF NOT FOUND AND NOT v_warm_up THEN
        RETURN;
    END IF;
    IF v_waiting THEN
        PERFORM {schema}.unpark_messages{v}(ARRAY[p_instance]);
    END IF;
    INSERT INTO {schema}.executions (instance_id, execution_id, status, output, started_at,
        completed_at, duroxide_version, duroxide_version_key, code)
    SELECT p_instance, p_execution, coalesce(p_status, 'Running'), p_output, v_now,
        CASE WHEN p_status IS NOT NULL THEN v_now END, p_pin, p_pin_key,
        {schema}.code_key{v}(p_name, p_version)
    WHERE NOT v_warm_up
    ON CONFLICT (instance_id, execution_id) DO UPDATE SET
        status = excluded.status, output = excluded.output, completed_at = excluded.completed_at,
        duroxide_version = excluded.duroxide_version,
        duroxide_version_key = excluded.duroxide_version_key;
    -- Two events at a time, as in `commit_step`.
    FOR v_place IN 1..greatest(cardinality(e_id), v_warm_up::INTEGER) BY 2 LOOP
        INSERT INTO {schema}.history
            (instance_id, execution_id, event_id, event_type, event_data, created_at, commit_id)
        SELECT p_instance, p_execution, e_id[p.place], e_type[p.place], e_data[p.place], v_now,
            e_commit[p.place]
        FROM (VALUES (v_place), (v_place + 1)) AS p (place)
        WHERE p.place <= cardinality(e_id) AND NOT v_warm_up;
    END LOOP;
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
    -- These were stored for an instance that did not exist.
    SELECT (SELECT 1 FROM {schema}.orchestrator_queue q WHERE q.instance_id = p_instance LIMIT 1)
        = 1 INTO v_waiting;
    IF v_waiting THEN
        PERFORM {schema}.forget_routes{v}(ARRAY[p_instance]);
        o_ready := (
            SELECT 1 FROM {schema}.orchestrator_queue q
            WHERE q.instance_id = p_instance AND q.visible_at <= v_now AND NOT q.parked
            LIMIT 1) = 1;
        IF o_ready THEN
            PERFORM {schema}.list_next_messages{v}(ARRAY[p_instance]);
        END IF;
    END IF;
    o_code := {COMMITTED};
END
$body$;
