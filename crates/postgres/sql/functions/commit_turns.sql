-- Commits turns. Prefixes name the kind of row, with one array element per row: `t_` turns, `d_`
-- what a direct turn must prove (one element per turn), `f_` activities that direct turns complete,
-- `e_` events, `k_` key-value changes, `w_` scheduled activities, `c_` cancelled activities, `m_`
-- messages. `*_turn` is the number of the turn, from one. Rare parts run only if they have rows: a
-- step of a chain is four statements. Without turns it warms up: every statement runs on no rows,
-- which makes its plan.
--
-- `o_codes` holds one result per turn, or null if all are committed. `o_turns` and `o_incarnations`
-- describe the instances as stored now, first those of `o_customs` and `o_custom_versions`.
-- `o_work_*` are the activities that the commit leased. `o_ready` lists committed turns whose
-- instances have more messages, or is null. `o_lost` is true if the commit cancelled an activity
-- that a worker runs.
--
-- A direct turn was not fetched: its token is new, and it commits only if history ends at its mark
-- and no lease and no message comes before it. `f_*` come in the order of their rows. A first turn
-- commits only if nothing of its instance is stored except parked messages, and no lease.
CREATE OR REPLACE FUNCTION {schema}.commit_turns{v}(
    p_now BIGINT, p_node BIGINT,
    t_instance TEXT[], t_token UUID[], t_again BOOLEAN[], t_first BOOLEAN[],
    t_execution BIGINT[], t_name TEXT[], t_version TEXT[], t_parent TEXT[],
    t_incarnation BIGINT[], t_pin TEXT[], t_pin_key BYTEA[],
    t_status TEXT[], t_output TEXT[], t_ends BOOLEAN[], t_custom_set BOOLEAN[], t_custom TEXT[],
    d_incarnation BIGINT[], d_execution BIGINT[], d_event BIGINT[], d_commit BIGINT[],
    f_turn INTEGER[], f_id BIGINT[], f_token UUID[],
    e_turn INTEGER[], e_id BIGINT[], e_type TEXT[], e_data TEXT[], e_commit BIGINT[],
    k_turn INTEGER[], k_op SMALLINT[], k_key TEXT[], k_value TEXT[], k_at BIGINT[],
    w_turn INTEGER[], w_instance TEXT[], w_execution BIGINT[], w_activity BIGINT[],
    w_session TEXT[], w_route TEXT[], w_code TEXT[], w_item TEXT[], w_token UUID[],
    w_lock_for BIGINT[], w_limit BIGINT[],
    c_turn INTEGER[], c_instance TEXT[], c_execution BIGINT[], c_activity BIGINT[],
    m_turn INTEGER[], m_instance TEXT[], m_item TEXT[], m_due BIGINT[], m_kind SMALLINT[],
    m_code BYTEA[],
    -- The number of fetched turns and of first turns, whether a turn lacks the orchestration name,
    -- and whether execution rows may need a write.
    p_fetched INTEGER, p_first INTEGER, p_nameless BOOLEAN, p_executions BOOLEAN,
    OUT o_now BIGINT, OUT o_codes INTEGER[], OUT o_turns INTEGER[], OUT o_incarnations BIGINT[],
    OUT o_work_ids BIGINT[], OUT o_work_tokens UUID[], OUT o_ready INTEGER[], OUT o_lost BOOLEAN,
    OUT o_customs TEXT[], OUT o_custom_versions BIGINT[]
)
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $body$
DECLARE
    v_now BIGINT := coalesce(p_now, {schema}.now_ms());
    v_count INTEGER := cardinality(t_instance);
    v_warm_up BOOLEAN := v_count = 0;
    -- Fetched turns under live leases; later all committed turns.
    v_live INTEGER[] := '{}';
    v_first INTEGER[] := '{}';
    v_first_tokens UUID[] := '{}';
    v_first_instances TEXT[] := '{}';
    v_tried INTEGER[] := '{}';
    v_all BOOLEAN;
    v_turns INTEGER[];
    v_incarnations BIGINT[];
    v_customs TEXT[];
    v_custom_versions BIGINT[];
    v_ended BIGINT;
    v_sessions TEXT[];
    v_keyed BOOLEAN;
    v_waiting TEXT[];
    v_lost BIGINT;
BEGIN
    o_now := v_now;
    o_lost := FALSE;
    o_turns := '{}';
    o_incarnations := '{}';
    o_customs := '{}';
    o_custom_versions := '{}';
    IF p_fetched > 0 OR v_warm_up THEN
        -- Removes only the messages of the lease: later arrivals belong to the next turn.
        WITH live AS (
            DELETE FROM {schema}.instance_locks l
            USING unnest(t_instance, t_token) WITH ORDINALITY AS t (instance_id, token, turn)
            WHERE l.instance_id = t.instance_id AND l.lock_token = t.token
                AND l.locked_until > v_now
            RETURNING t.turn::INTEGER, l.instance_id, l.message_ids
        ), consumed AS (
            DELETE FROM {schema}.orchestrator_queue q
            USING live
            WHERE q.instance_id = live.instance_id AND q.id = ANY (live.message_ids)
        )
        SELECT coalesce(array_agg(live.turn), '{}') INTO v_live FROM live;
    END IF;
    IF p_first > 0 OR v_warm_up THEN
        -- Until the transaction ends, no other transaction starts the instance or sets its messages
        -- aside. If another one holds the lock now, it goes first. The next statement checks what
        -- is stored: it sees everything that was committed before this one got the lock.
        FOR v_turn IN 1..v_count LOOP
            CONTINUE WHEN NOT t_first[v_turn];
            -- An earlier attempt of the same commit may still be about to commit.
            IF t_again[v_turn] THEN
                PERFORM pg_advisory_xact_lock({schema}.instance_key(t_instance[v_turn]));
            END IF;
            IF pg_try_advisory_xact_lock({schema}.instance_key(t_instance[v_turn])) THEN
                v_first := v_first || v_turn;
                v_first_tokens := v_first_tokens || t_token[v_turn];
                v_first_instances := v_first_instances || t_instance[v_turn];
            END IF;
        END LOOP;
        SELECT coalesce(array_agg(f.turn), '{}') INTO v_first FROM unnest(v_first) AS f (turn)
        WHERE (
                SELECT 1 FROM {schema}.history h WHERE h.instance_id = t_instance[f.turn]
                LIMIT 1) IS NULL
            AND (
                SELECT 1 FROM {schema}.orchestrator_queue q
                WHERE q.instance_id = t_instance[f.turn] AND NOT q.parked LIMIT 1) IS NULL
            -- While an instance of that id is being deleted, what is stored goes with it.
            AND (
                SELECT 1 FROM {schema}.instance_locks l
                WHERE l.instance_id = t_instance[f.turn]) IS NULL;
    END IF;
    IF p_fetched > 0 OR p_first > 0 OR v_warm_up THEN
        -- Creates or updates the instances of turns that carry a name. Leaves out a parent that was
        -- deleted meanwhile, because the child could not be deleted otherwise; waits for one that
        -- is being deleted.
        WITH written AS (
            INSERT INTO {schema}.instances AS i (instance_id, orchestration_name,
                orchestration_version, current_execution_id, created_at, updated_at,
                parent_instance_id, custom_status, custom_status_version, incarnation, warm_node,
                last_turn)
            SELECT t.instance_id, t.name, t.version, t.execution_id, v_now, v_now,
                CASE WHEN t.parent IS NOT NULL
                    THEN {schema}.lock_parent{v}(t.instance_id, t.parent) END,
                CASE WHEN t.custom_set THEN t.custom END, t.custom_set::INTEGER, t.incarnation,
                p_node, t.token
            FROM unnest(t_instance, t_token, t_execution, t_name, t_version, t_parent,
                    t_incarnation, t_custom_set, t_custom) WITH ORDINALITY
                AS t (instance_id, token, execution_id, name, version, parent, incarnation,
                    custom_set, custom, turn)
            WHERE (t.turn = ANY (v_live) OR t.turn = ANY (v_first)) AND t.name IS NOT NULL
            ON CONFLICT (instance_id) DO UPDATE SET
                orchestration_name = excluded.orchestration_name,
                orchestration_version = excluded.orchestration_version,
                current_execution_id =
                    greatest(i.current_execution_id, excluded.current_execution_id),
                updated_at = excluded.updated_at,
                custom_status = CASE WHEN excluded.custom_status_version > 0
                    THEN excluded.custom_status ELSE i.custom_status END,
                custom_status_version = i.custom_status_version + excluded.custom_status_version,
                warm_node = excluded.warm_node,
                last_turn = excluded.last_turn,
                suspended_since = NULL
            -- A first turn does not change an instance that exists.
            WHERE excluded.last_turn <> ALL (v_first_tokens)
            RETURNING i.last_turn, i.incarnation, i.custom_status, i.custom_status_version
        )
        SELECT coalesce(array_agg(array_position(t_token, w.last_turn)), '{}'),
            coalesce(array_agg(w.incarnation), '{}'), coalesce(array_agg(w.custom_status), '{}'),
            coalesce(array_agg(w.custom_status_version), '{}')
        INTO o_turns, o_incarnations, o_customs, o_custom_versions FROM written w;
        IF cardinality(v_first_instances) > 0 OR v_warm_up THEN
            PERFORM {schema}.unpark_messages{v}(v_first_instances);
        END IF;
    END IF;
    IF p_fetched + p_first < v_count THEN
        -- Until the transaction ends, no fetch leases the instance. If a fetch holds the lock now,
        -- it goes first. The next statement checks what comes before a turn: it sees everything
        -- that was committed before this transaction got the lock.
        FOR v_turn IN 1..v_count LOOP
            IF d_event[v_turn] IS NOT NULL
                AND pg_try_advisory_xact_lock({schema}.instance_key(t_instance[v_turn]))
            THEN
                v_tried := v_tried || v_turn;
            END IF;
        END LOOP;
    END IF;
    IF p_fetched + p_first < v_count OR p_nameless OR v_warm_up THEN
        WITH updated AS (
            UPDATE {schema}.instances i SET
                orchestration_name = coalesce(t.name, i.orchestration_name),
                orchestration_version = coalesce(t.version, i.orchestration_version),
                current_execution_id = greatest(i.current_execution_id, t.execution_id),
                updated_at = v_now,
                custom_status = CASE WHEN t.custom_set THEN t.custom ELSE i.custom_status END,
                custom_status_version = i.custom_status_version + t.custom_set::INTEGER,
                warm_node = p_node,
                last_turn = t.token,
                suspended_since = NULL
            FROM unnest(t_instance, t_token, t_execution, t_name, t_version, t_custom_set, t_custom,
                    d_incarnation, d_execution, d_event, d_commit) WITH ORDINALITY
                AS t (instance_id, token, execution_id, name, version, custom_set, custom,
                    held_incarnation, held_execution, held_event, held_commit, turn)
            WHERE i.instance_id = t.instance_id AND CASE
                WHEN t.held_event IS NULL THEN t.turn = ANY (v_live) AND t.name IS NULL
                ELSE t.turn = ANY (v_tried)
                    AND i.incarnation = t.held_incarnation
                    AND i.current_execution_id = t.held_execution
                    AND coalesce((
                        SELECT h.event_id = t.held_event
                            AND coalesce(h.commit_id = t.held_commit, t.held_commit IS NULL)
                        FROM {schema}.history h
                        WHERE h.instance_id = t.instance_id AND h.execution_id = t.held_execution
                        ORDER BY h.event_id DESC LIMIT 1),
                        t.held_event = 0 AND t.held_commit IS NULL)
                    -- Not "NOT EXISTS": beside other conditions the server would read the whole
                    -- table into a hash.
                    AND (
                        SELECT 1 FROM {schema}.instance_locks l
                        WHERE l.instance_id = t.instance_id AND l.locked_until > v_now) IS NULL
                    AND (
                        SELECT 1 FROM {schema}.orchestrator_queue q
                        WHERE q.instance_id = t.instance_id AND q.visible_at <= v_now
                            AND NOT q.parked
                        LIMIT 1) IS NULL
                END
            RETURNING t.turn::INTEGER, i.incarnation, i.custom_status, i.custom_status_version
        )
        SELECT coalesce(array_agg(u.turn), '{}'), coalesce(array_agg(u.incarnation), '{}'),
            coalesce(array_agg(u.custom_status), '{}'),
            coalesce(array_agg(u.custom_status_version), '{}')
        INTO v_turns, v_incarnations, v_customs, v_custom_versions FROM updated u;
        o_turns := o_turns || v_turns;
        o_incarnations := o_incarnations || v_incarnations;
        o_customs := o_customs || v_customs;
        o_custom_versions := o_custom_versions || v_custom_versions;
    END IF;
    v_all := cardinality(o_turns) = v_count;
    IF v_all THEN
        v_live := o_turns;
    ELSE
        -- A turn without a name commits even if its instance is not stored.
        SELECT coalesce(array_agg(DISTINCT c.turn), '{}') INTO v_live
        FROM unnest(v_live || o_turns) AS c (turn);
        v_all := cardinality(v_live) = v_count;
    END IF;

    IF cardinality(v_live) > 0 OR v_warm_up THEN
        IF cardinality(f_id) > 0 OR v_warm_up THEN
            -- The rows come in order, so that two callers cannot deadlock.
            WITH ended AS (
                DELETE FROM {schema}.worker_queue q
                USING unnest(f_turn, f_id, f_token) AS f (turn, id, token)
                WHERE q.id = f.id AND q.lock_token = f.token AND q.locked_until > v_now
                    AND (v_all OR f.turn = ANY (v_live))
                RETURNING q.session_id
            )
            SELECT count(*), array_agg(e.session_id) FILTER (WHERE e.session_id IS NOT NULL)
            INTO v_ended, v_sessions FROM ended e;
            IF v_ended < cardinality(f_id) AND v_ended < (
                SELECT count(*) FROM unnest(f_turn) AS f (turn) WHERE f.turn = ANY (v_live))
            THEN
                RAISE EXCEPTION 'a finished activity is gone or its lease has run out'
                    USING ERRCODE = 'DX001';
            END IF;
            IF v_sessions IS NOT NULL THEN
                PERFORM {schema}.touch_sessions{v}(v_now, v_sessions);
            END IF;
        END IF;
        IF p_executions OR v_warm_up THEN
            INSERT INTO {schema}.executions (instance_id, execution_id, status, output, started_at,
                completed_at, duroxide_version, duroxide_version_key, code)
            SELECT t.instance_id, t.execution_id, coalesce(t.status, 'Running'), t.output, v_now,
                CASE WHEN t.status IS NOT NULL THEN v_now END, t.pin, t.pin_key,
                {schema}.code_key{v}(t.name, t.version)
            FROM unnest(t_instance, t_execution, t_status, t_output, t_pin, t_pin_key, t_name,
                    t_version)
                WITH ORDINALITY
                AS t (instance_id, execution_id, status, output, pin, pin_key, name, version, turn)
            WHERE (v_all OR t.turn = ANY (v_live))
                AND (t.status IS NOT NULL OR t.pin IS NOT NULL OR (
                    SELECT 1 FROM {schema}.executions e
                    WHERE e.instance_id = t.instance_id AND e.execution_id = t.execution_id
                ) IS NULL)
            ON CONFLICT (instance_id, execution_id) DO UPDATE SET
                status = CASE WHEN excluded.completed_at IS NULL
                    THEN executions.status ELSE excluded.status END,
                output = CASE WHEN excluded.completed_at IS NULL
                    THEN executions.output ELSE excluded.output END,
                completed_at = coalesce(excluded.completed_at, executions.completed_at),
                duroxide_version =
                    coalesce(excluded.duroxide_version, executions.duroxide_version),
                duroxide_version_key =
                    coalesce(excluded.duroxide_version_key, executions.duroxide_version_key);
            -- Rare: a new execution whose pin or code differs from that of the one before.
            IF 1 < ANY (t_execution) THEN
                INSERT INTO {schema}.repinned (instance_id)
                SELECT t.instance_id
                FROM unnest(t_instance, t_execution, t_pin_key, t_name, t_version) WITH ORDINALITY
                    AS t (instance_id, execution_id, pin_key, name, version, turn)
                CROSS JOIN LATERAL (
                    SELECT e.duroxide_version_key AS pin_key, e.code FROM {schema}.executions e
                    WHERE e.instance_id = t.instance_id AND e.execution_id < t.execution_id
                    ORDER BY e.execution_id DESC LIMIT 1) AS before
                WHERE (v_all OR t.turn = ANY (v_live)) AND t.pin_key IS NOT NULL
                    AND (t.pin_key <> before.pin_key
                        OR {schema}.code_key{v}(t.name, t.version) IS DISTINCT FROM before.code);
            END IF;
        END IF;
        IF cardinality(e_turn) > 0 OR v_warm_up THEN
            INSERT INTO {schema}.history
                (instance_id, execution_id, event_id, event_type, event_data, created_at,
                    commit_id)
            SELECT t_instance[e.turn], t_execution[e.turn], e.event_id, e.event_type,
                e.event_data, v_now, e.commit_id
            FROM unnest(e_turn, e_id, e_type, e_data, e_commit)
                AS e (turn, event_id, event_type, event_data, commit_id)
            WHERE v_all OR e.turn = ANY (v_live);
        END IF;
        IF cardinality(k_turn) > 0 THEN
            PERFORM {schema}.write_kv{v}(
                v_now, v_live, t_instance, k_turn, k_op, k_key, k_value, k_at);
        END IF;
        IF cardinality(w_turn) > 0 OR v_warm_up THEN
            WITH added AS (
                INSERT INTO {schema}.worker_queue (work_item, created_at, instance_id,
                    execution_id, activity_id, session_id, route, code, lock_token, locked_until,
                    timed_at, attempt_count, lane, start_by)
                SELECT w.item, v_now, w.instance_id, w.execution_id, w.activity_id, w.session_id,
                    w.route, w.code, w.token, v_now + w.lock_for, v_now,
                    (w.token IS NOT NULL)::INTEGER,
                    (w.session_id IS NOT NULL)::INTEGER,
                    -- A leased activity counts as started, which satisfies its limit.
                    CASE WHEN w.token IS NULL THEN v_now + w.start_limit END
                FROM unnest(w_turn, w_instance, w_execution, w_activity, w_session, w_route,
                        w_code, w_item, w_token, w_lock_for, w_limit)
                    AS w (turn, instance_id, execution_id, activity_id, session_id, route, code, item,
                        token, lock_for, start_limit)
                WHERE v_all OR w.turn = ANY (v_live)
                RETURNING worker_queue.id, worker_queue.lock_token)
            SELECT array_agg(a.id), array_agg(a.lock_token) INTO o_work_ids, o_work_tokens
            FROM added a WHERE a.lock_token IS NOT NULL;
        END IF;
        IF cardinality(c_turn) > 0 THEN
            -- After the inserts: an activity that one turn schedules and cancels never runs. In the
            -- order of the rows, so that two callers cannot deadlock.
            WITH doomed AS (
                SELECT q.id FROM {schema}.worker_queue q
                JOIN unnest(c_turn, c_instance, c_execution, c_activity)
                    AS c (turn, instance_id, execution_id, activity_id)
                    ON q.instance_id = c.instance_id AND q.execution_id = c.execution_id
                        AND q.activity_id = c.activity_id
                WHERE v_all OR c.turn = ANY (v_live)
                ORDER BY q.id FOR UPDATE OF q
            ), cancelled AS (
                DELETE FROM {schema}.worker_queue q USING doomed WHERE q.id = doomed.id
                RETURNING q.lock_token)
            SELECT count(c.lock_token) INTO v_lost FROM cancelled c;
            o_lost := v_lost > 0;
        END IF;
        IF TRUE = ANY (t_ends) OR v_warm_up THEN
            -- Most instances leave neither values nor messages.
            SELECT bool_or((
                    SELECT 1 FROM {schema}.kv_delta d WHERE d.instance_id = t.instance_id
                    LIMIT 1) = 1),
                array_agg(t.instance_id) FILTER (WHERE (
                    SELECT 1 FROM {schema}.orchestrator_queue q
                    WHERE q.instance_id = t.instance_id LIMIT 1) = 1)
            INTO v_keyed, v_waiting
            FROM unnest(t_instance, t_ends) WITH ORDINALITY AS t (instance_id, ends, turn)
            WHERE t.ends AND (v_all OR t.turn = ANY (v_live));
            IF v_keyed OR v_warm_up THEN
                PERFORM {schema}.merge_kv{v}(v_live, t_instance, t_ends);
            END IF;
            IF v_waiting IS NOT NULL OR v_warm_up THEN
                -- What waits for an instance that has ended needs no code.
                PERFORM {schema}.forget_routes{v}(v_waiting);
            END IF;
        END IF;
        IF cardinality(m_turn) > 0 OR v_warm_up THEN
            IF v_all THEN
                PERFORM {schema}.insert_messages{v}(
                    v_now, m_instance, m_item, m_due, m_kind, m_code);
            ELSE
                PERFORM {schema}.insert_messages{v}(
                    v_now, m.instances, m.items, m.dues, m.kinds, m.codes)
                FROM (
                    SELECT array_agg(m.instance_id ORDER BY m.place) AS instances,
                        array_agg(m.item ORDER BY m.place) AS items,
                        array_agg(m.due ORDER BY m.place) AS dues,
                        array_agg(m.kind ORDER BY m.place) AS kinds,
                        array_agg(m.code ORDER BY m.place) AS codes
                    FROM unnest(m_turn, m_instance, m_item, m_due, m_kind, m_code) WITH ORDINALITY
                        AS m (turn, instance_id, item, due, kind, code, place)
                    WHERE m.turn = ANY (v_live)
                    HAVING count(*) > 0
                ) AS m;
            END IF;
        END IF;
        IF p_fetched > 0 OR p_first > 0 OR v_warm_up THEN
            -- Every fetch passed over messages that arrived while their instance was leased.
            SELECT array_agg(v.turn) INTO o_ready FROM unnest(v_live) AS v (turn)
            WHERE (
                SELECT 1 FROM {schema}.orchestrator_queue q
                WHERE q.instance_id = t_instance[v.turn] AND q.visible_at <= v_now
                    AND NOT q.parked
                LIMIT 1) = 1;
            IF o_ready IS NOT NULL THEN
                -- Other starts of a new instance may have come while this one was leased.
                PERFORM {schema}.forget_routes{v}(array_agg(t_instance[n.turn]))
                FROM unnest(o_turns, o_incarnations) AS n (turn, incarnation)
                WHERE n.incarnation = t_incarnation[n.turn] AND n.turn = ANY (o_ready);
                PERFORM {schema}.list_next_messages{v}(array_agg(t_instance[r.turn]))
                FROM unnest(o_ready) AS r (turn);
            END IF;
        END IF;
    END IF;

    IF NOT v_all THEN
        SELECT array_agg(s.o_code ORDER BY s.o_turn),
            o_turns || coalesce(array_agg(s.o_turn) FILTER (WHERE s.o_known), '{}'),
            o_incarnations || coalesce(array_agg(s.o_incarnation) FILTER (WHERE s.o_known), '{}')
        INTO o_codes, o_turns, o_incarnations
        FROM {schema}.turn_results{v}(t_instance, t_token, t_again, t_first, d_event, v_live) AS s;
    END IF;
END
$body$;
