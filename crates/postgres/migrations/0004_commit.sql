-- Commits turns. Each array of a kind has one element per row; `*_turn` counts from one, and `d_*`
-- have one for each turn. What most calls do not need is done only if there is something to do: a
-- step of a chain is four statements. A call without turns is a rehearsal: every statement is run
-- on nothing, so that its plan is made before it is needed.
--
-- `o_codes` says for each turn: 0 committed, 1 unknown token, 2 the lease has run out, 3 does not
-- follow what is stored, 4 is not the first; it is null if all are committed. `o_turns` and
-- `o_incarnations` name the instances as they are stored now, beginning with those of `o_customs`
-- and `o_custom_versions`; `o_work_*` are the activities that were leased. `o_ready`: committed
-- turns whose instances have messages left, or null. `o_lost`: an activity was cancelled which
-- somebody runs.
--
-- A direct turn was not fetched: its token is new, and it counts only if the history ends at its
-- mark and nobody and nothing stands before it. `f_*` are the activities that direct turns answer,
-- in the order of their rows. A turn that is the first counts only if nothing of its instance is
-- there but messages that were set aside.
CREATE FUNCTION {schema}.commit_turns(
    p_now BIGINT, p_node BIGINT,
    t_instance TEXT[], t_token UUID[], t_again BOOLEAN[], t_first BOOLEAN[],
    t_execution BIGINT[], t_name TEXT[], t_version TEXT[], t_parent TEXT[],
    t_incarnation BIGINT[], t_pin TEXT[], t_pin_key BYTEA[],
    t_status TEXT[], t_output TEXT[], t_ends BOOLEAN[], t_custom_set BOOLEAN[], t_custom TEXT[],
    d_incarnation BIGINT[], d_execution BIGINT[], d_event BIGINT[],
    f_turn INTEGER[], f_id BIGINT[], f_token UUID[],
    e_turn INTEGER[], e_id BIGINT[], e_type TEXT[], e_data TEXT[],
    k_turn INTEGER[], k_op SMALLINT[], k_key TEXT[], k_value TEXT[], k_at BIGINT[],
    w_turn INTEGER[], w_instance TEXT[], w_execution BIGINT[], w_activity BIGINT[],
    w_session TEXT[], w_route TEXT[], w_item TEXT[], w_token UUID[], w_lock_for BIGINT[],
    w_limit BIGINT[],
    c_turn INTEGER[], c_instance TEXT[], c_execution BIGINT[], c_activity BIGINT[],
    m_turn INTEGER[], m_instance TEXT[], m_item TEXT[], m_due BIGINT[], m_kind SMALLINT[],
    -- How many turns were fetched and how many are the first, whether one names no orchestration,
    -- and whether executions may have to be written.
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
    v_rehearsal BOOLEAN := v_count = 0;
    -- Turns that were fetched and whose lease lives, then all that are committed.
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
    v_lost BIGINT;
BEGIN
    o_now := v_now;
    o_lost := FALSE;
    o_turns := '{}';
    o_incarnations := '{}';
    o_customs := '{}';
    o_custom_versions := '{}';
    IF p_fetched > 0 OR v_rehearsal THEN
        -- Only what the lease holds is consumed: later arrivals belong to the next turn.
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
    IF p_first > 0 OR v_rehearsal THEN
        -- Until the end of the transaction nobody else starts the instance, and nobody sets
        -- messages for it aside. Somebody who is about to do that now comes first. What is there
        -- is looked at by the next statement, which sees what others did before we had the lock.
        FOR v_turn IN 1..v_count LOOP
            CONTINUE WHEN NOT t_first[v_turn];
            -- An earlier try of the same commit may be about to end.
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
                WHERE q.instance_id = t_instance[f.turn] AND NOT q.parked LIMIT 1) IS NULL;
    END IF;
    IF p_fetched > 0 OR p_first > 0 OR v_rehearsal THEN
        -- Instances that their turns name are made or go on. A parent that was deleted meanwhile is
        -- left out: the child could not be deleted otherwise. One that is being deleted is waited
        -- for.
        WITH written AS (
            INSERT INTO {schema}.instances AS i (instance_id, orchestration_name,
                orchestration_version, current_execution_id, created_at, updated_at,
                parent_instance_id, custom_status, custom_status_version, incarnation, warm_node,
                last_turn)
            SELECT t.instance_id, t.name, t.version, t.execution_id, v_now, v_now,
                CASE WHEN t.parent IS NOT NULL
                    THEN {schema}.held_parent(t.instance_id, t.parent) END,
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
                last_turn = excluded.last_turn
            -- One that is there is not begun again.
            WHERE excluded.last_turn <> ALL (v_first_tokens)
            RETURNING i.last_turn, i.incarnation, i.custom_status, i.custom_status_version
        )
        SELECT coalesce(array_agg(array_position(t_token, w.last_turn)), '{}'),
            coalesce(array_agg(w.incarnation), '{}'), coalesce(array_agg(w.custom_status), '{}'),
            coalesce(array_agg(w.custom_status_version), '{}')
        INTO o_turns, o_incarnations, o_customs, o_custom_versions FROM written w;
        IF cardinality(v_first_instances) > 0 OR v_rehearsal THEN
            PERFORM {schema}.unpark(v_first_instances);
        END IF;
    END IF;
    IF p_fetched + p_first < v_count THEN
        -- Until the end of the transaction nobody hands the instance out. Somebody who is about to
        -- do that now comes first. What stands before a turn is looked at by the next statement,
        -- which sees what others did before we had the lock.
        FOR v_turn IN 1..v_count LOOP
            IF d_event[v_turn] IS NOT NULL
                AND pg_try_advisory_xact_lock({schema}.instance_key(t_instance[v_turn]))
            THEN
                v_tried := v_tried || v_turn;
            END IF;
        END LOOP;
    END IF;
    IF p_fetched + p_first < v_count OR p_nameless OR v_rehearsal THEN
        WITH updated AS (
            UPDATE {schema}.instances i SET
                orchestration_name = coalesce(t.name, i.orchestration_name),
                orchestration_version = coalesce(t.version, i.orchestration_version),
                current_execution_id = greatest(i.current_execution_id, t.execution_id),
                updated_at = v_now,
                custom_status = CASE WHEN t.custom_set THEN t.custom ELSE i.custom_status END,
                custom_status_version = i.custom_status_version + t.custom_set::INTEGER,
                warm_node = p_node,
                last_turn = t.token
            FROM unnest(t_instance, t_token, t_execution, t_name, t_version, t_custom_set, t_custom,
                    d_incarnation, d_execution, d_event) WITH ORDINALITY
                AS t (instance_id, token, execution_id, name, version, custom_set, custom,
                    held_incarnation, held_execution, held_event, turn)
            WHERE i.instance_id = t.instance_id AND CASE
                WHEN t.held_event IS NULL THEN t.turn = ANY (v_live) AND t.name IS NULL
                ELSE t.turn = ANY (v_tried)
                    AND i.incarnation = t.held_incarnation
                    AND i.current_execution_id = t.held_execution
                    AND t.held_event = coalesce((
                        SELECT h.event_id FROM {schema}.history h
                        WHERE h.instance_id = t.instance_id AND h.execution_id = t.held_execution
                        ORDER BY h.event_id DESC LIMIT 1), 0)
                    -- Not "NOT EXISTS": beside other conditions it would be answered by reading the
                    -- whole table into a hash.
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
        -- A turn without a name commits although its instance is not stored.
        SELECT coalesce(array_agg(DISTINCT c.turn), '{}') INTO v_live
        FROM unnest(v_live || o_turns) AS c (turn);
        v_all := cardinality(v_live) = v_count;
    END IF;

    IF cardinality(v_live) > 0 OR v_rehearsal THEN
        IF cardinality(f_id) > 0 OR v_rehearsal THEN
            -- The rows are given in order, so that two callers cannot wait for each other.
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
                PERFORM {schema}.touch_sessions(v_now, v_sessions);
            END IF;
        END IF;
        IF p_executions OR v_rehearsal THEN
            INSERT INTO {schema}.executions (instance_id, execution_id, status, output, started_at,
                completed_at, duroxide_version, duroxide_version_key)
            SELECT t.instance_id, t.execution_id, coalesce(t.status, 'Running'), t.output, v_now,
                CASE WHEN t.status IS NOT NULL THEN v_now END, t.pin, t.pin_key
            FROM unnest(t_instance, t_execution, t_status, t_output, t_pin, t_pin_key)
                WITH ORDINALITY
                AS t (instance_id, execution_id, status, output, pin, pin_key, turn)
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
        END IF;
        IF cardinality(e_turn) > 0 OR v_rehearsal THEN
            INSERT INTO {schema}.history
                (instance_id, execution_id, event_id, event_type, event_data, created_at)
            SELECT t_instance[e.turn], t_execution[e.turn], e.event_id, e.event_type,
                e.event_data, v_now
            FROM unnest(e_turn, e_id, e_type, e_data)
                AS e (turn, event_id, event_type, event_data)
            WHERE v_all OR e.turn = ANY (v_live);
        END IF;
        IF cardinality(k_turn) > 0 THEN
            PERFORM {schema}.write_values(
                v_now, v_live, t_instance, k_turn, k_op, k_key, k_value, k_at);
        END IF;
        IF TRUE = ANY (t_ends) OR v_rehearsal THEN
            PERFORM {schema}.merge_values(v_live, t_instance, t_ends);
        END IF;
        IF cardinality(w_turn) > 0 OR v_rehearsal THEN
            WITH added AS (
                INSERT INTO {schema}.worker_queue (work_item, created_at, instance_id,
                    execution_id, activity_id, session_id, route, lock_token, locked_until,
                    attempt_count, start_by)
                SELECT w.item, v_now, w.instance_id, w.execution_id, w.activity_id, w.session_id,
                    w.route, w.token, v_now + w.lock_for, (w.token IS NOT NULL)::INTEGER,
                    -- A lease is a start, so that a limit is satisfied and not kept.
                    CASE WHEN w.token IS NULL THEN v_now + w.start_limit END
                FROM unnest(w_turn, w_instance, w_execution, w_activity, w_session, w_route,
                        w_item, w_token, w_lock_for, w_limit)
                    AS w (turn, instance_id, execution_id, activity_id, session_id, route, item,
                        token, lock_for, start_limit)
                WHERE v_all OR w.turn = ANY (v_live)
                RETURNING worker_queue.id, worker_queue.lock_token)
            SELECT array_agg(a.id), array_agg(a.lock_token) INTO o_work_ids, o_work_tokens
            FROM added a WHERE a.lock_token IS NOT NULL;
        END IF;
        IF cardinality(c_turn) > 0 THEN
            -- After the inserts: an activity that is scheduled and cancelled in one turn never
            -- runs. In the order of the rows, so that two callers cannot wait for each other.
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
        IF cardinality(m_turn) > 0 OR v_rehearsal THEN
            IF v_all THEN
                PERFORM {schema}.put_messages(v_now, m_instance, m_item, m_due, m_kind);
            ELSE
                PERFORM {schema}.put_messages(
                    v_now, m.instances, m.items, m.dues, m.kinds)
                FROM (
                    SELECT array_agg(m.instance_id ORDER BY m.place) AS instances,
                        array_agg(m.item ORDER BY m.place) AS items,
                        array_agg(m.due ORDER BY m.place) AS dues,
                        array_agg(m.kind ORDER BY m.place) AS kinds
                    FROM unnest(m_turn, m_instance, m_item, m_due, m_kind) WITH ORDINALITY
                        AS m (turn, instance_id, item, due, kind, place)
                    WHERE m.turn = ANY (v_live)
                    HAVING count(*) > 0
                ) AS m;
            END IF;
        END IF;
        IF p_fetched > 0 OR p_first > 0 OR v_rehearsal THEN
            -- What came for an instance while it was leased was passed over by every fetch.
            SELECT array_agg(v.turn) INTO o_ready FROM unnest(v_live) AS v (turn)
            WHERE (
                SELECT 1 FROM {schema}.orchestrator_queue q
                WHERE q.instance_id = t_instance[v.turn] AND q.visible_at <= v_now
                    AND NOT q.parked
                LIMIT 1) = 1;
        END IF;
    END IF;

    IF NOT v_all THEN
        SELECT array_agg(s.o_code ORDER BY s.o_turn),
            o_turns || coalesce(array_agg(s.o_turn) FILTER (WHERE s.o_known), '{}'),
            o_incarnations || coalesce(array_agg(s.o_incarnation) FILTER (WHERE s.o_known), '{}')
        INTO o_codes, o_turns, o_incarnations
        FROM {schema}.why_refused(t_instance, t_token, t_again, t_first, d_event, v_live) AS s;
    END IF;
END
$body$;

-- What became of each turn of a commit. One that was committed by an earlier try is known by the
-- last turn that its instance names.
CREATE FUNCTION {schema}.why_refused(
    t_instance TEXT[], t_token UUID[], t_again BOOLEAN[], t_first BOOLEAN[], d_event BIGINT[],
    p_live INTEGER[]
) RETURNS TABLE (o_turn INTEGER, o_code INTEGER, o_known BOOLEAN, o_incarnation BIGINT)
LANGUAGE plpgsql AS $body$
BEGIN
    RETURN QUERY
    SELECT t.turn::INTEGER,
        CASE
            WHEN t.turn = ANY (p_live) OR before.incarnation IS NOT NULL THEN 0
            WHEN t.held_event IS NOT NULL THEN 3
            WHEN t.first THEN 4
            WHEN (
                SELECT 1 FROM {schema}.instance_locks l
                WHERE l.instance_id = t.instance_id AND l.lock_token = t.token) = 1 THEN 2
            ELSE 1
        END,
        NOT t.turn = ANY (p_live) AND before.incarnation IS NOT NULL,
        before.incarnation
    FROM unnest(t_instance, t_token, t_again, t_first, d_event) WITH ORDINALITY
        AS t (instance_id, token, again, first, held_event, turn)
    LEFT JOIN LATERAL (
        SELECT i.incarnation FROM {schema}.instances i
        WHERE t.again AND i.instance_id = t.instance_id AND i.last_turn = t.token
    ) AS before ON TRUE;
END
$body$;

-- The parent of an instance that is about to be made, if the parent exists. It is kept from being
-- deleted until the end of the transaction.
CREATE FUNCTION {schema}.held_parent(p_instance TEXT, p_parent TEXT) RETURNS TEXT
LANGUAGE plpgsql AS $body$
DECLARE
    v_found TEXT;
BEGIN
    PERFORM 1 FROM {schema}.instances i WHERE i.instance_id = p_instance;
    IF NOT FOUND THEN
        SELECT i.instance_id INTO v_found FROM {schema}.instances i
        WHERE i.instance_id = p_parent FOR KEY SHARE;
    END IF;
    RETURN v_found;
END
$body$;

-- Key-value changes in order: 0 sets, 1 clears one, 2 clears all.
CREATE FUNCTION {schema}.write_values(
    p_now BIGINT, p_live INTEGER[], t_instance TEXT[],
    k_turn INTEGER[], k_op SMALLINT[], k_key TEXT[], k_value TEXT[], k_at BIGINT[]
) RETURNS VOID
LANGUAGE plpgsql AS $body$
DECLARE
    v_row RECORD;
BEGIN
    FOR v_row IN
        SELECT t_instance[k.turn] AS instance_id, k.op, k.key, k.value, coalesce(k.at, p_now) AS at
        FROM unnest(k_turn, k_op, k_key, k_value, k_at) AS k (turn, op, key, value, at)
        WHERE k.turn = ANY (p_live)
    LOOP
        IF v_row.op < 2 THEN
            INSERT INTO {schema}.kv_delta AS d (instance_id, key, value, last_updated_at_ms)
            VALUES (v_row.instance_id, v_row.key, v_row.value, v_row.at)
            ON CONFLICT (instance_id, key) DO UPDATE
            SET value = excluded.value, last_updated_at_ms = excluded.last_updated_at_ms;
        ELSE
            UPDATE {schema}.kv_delta d SET value = NULL, last_updated_at_ms = p_now
            WHERE d.instance_id = v_row.instance_id;
            INSERT INTO {schema}.kv_delta (instance_id, key, value, last_updated_at_ms)
            SELECT s.instance_id, s.key, NULL, p_now FROM {schema}.kv_store s
            WHERE s.instance_id = v_row.instance_id
            ON CONFLICT (instance_id, key) DO NOTHING;
        END IF;
    END LOOP;
END
$body$;

-- Makes the writes of executions that ended part of what the next ones begin with.
CREATE FUNCTION {schema}.merge_values(p_live INTEGER[], t_instance TEXT[], t_ends BOOLEAN[])
RETURNS VOID
LANGUAGE plpgsql AS $body$
DECLARE
    v_instances TEXT[];
BEGIN
    SELECT array_agg(DISTINCT d.instance_id) INTO v_instances
    FROM unnest(t_instance, t_ends) WITH ORDINALITY AS t (instance_id, ends, turn)
    JOIN {schema}.kv_delta d ON d.instance_id = t.instance_id
    WHERE t.ends AND t.turn = ANY (p_live);
    IF v_instances IS NULL THEN
        RETURN;
    END IF;
    INSERT INTO {schema}.kv_store (instance_id, key, value, last_updated_at_ms)
    SELECT d.instance_id, d.key, d.value, d.last_updated_at_ms FROM {schema}.kv_delta d
    WHERE d.instance_id = ANY (v_instances) AND d.value IS NOT NULL
    ON CONFLICT (instance_id, key) DO UPDATE
    SET value = excluded.value, last_updated_at_ms = excluded.last_updated_at_ms;
    DELETE FROM {schema}.kv_store s USING {schema}.kv_delta d
    WHERE s.instance_id = ANY (v_instances) AND d.instance_id = s.instance_id
        AND d.key = s.key AND d.value IS NULL;
    DELETE FROM {schema}.kv_delta d WHERE d.instance_id = ANY (v_instances);
END
$body$;
