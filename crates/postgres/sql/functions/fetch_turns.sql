-- Leases turns. Reads the queue in order, leases each instance, and returns all that a turn needs.
-- The last row has no instance: it carries the server's time, the time of the next poll, whether
-- the call passed over something that may be free by now, and which messages it set aside. With
-- `p_turns_max` 0 it warms up: its statements run on no rows, which makes their plans.
-- If nodes of the caller's process may hold leases, it sets `p_asks`. A call that meets expired
-- leases then returns them in the last row and does nothing else. The caller repeats it with those
-- that its nodes hold, `h_`, which are extended, and with the others, `p_free`, which are claimed.
-- `p_skip` are instances that it leaves alone. With `p_only` it leases that one, whatever its route.
CREATE OR REPLACE FUNCTION {schema}.fetch_turns{v}(
    p_now BIGINT,
    p_turns_max INTEGER,
    p_lock_for BIGINT,
    -- Ranges of versions that the caller can replay; null means all.
    p_from BYTEA[],
    p_to BYTEA[],
    -- Keys of the code that it has, sorted; null means all.
    p_code BYTEA[],
    p_node BIGINT,
    -- How long other nodes leave an instance to the node that holds its history in memory.
    p_grace BIGINT,
    -- Bounds of one turn; a start of `p_alone_bytes` comes alone, because it carries messages.
    p_messages_max BIGINT,
    p_bytes_max BIGINT,
    p_alone_bytes BIGINT,
    -- Bytes of messages that the call returns; it leases fewer turns if they are large.
    p_fetch_bytes_max BIGINT,
    -- Longer histories, and larger key-value states, take a read of their own.
    p_inline_events_max BIGINT,
    p_inline_bytes_max BIGINT,
    p_asks BOOLEAN,
    -- Null if all expired leases may be claimed.
    p_free UUID[],
    h_instance TEXT[],
    h_token UUID[],
    p_skip TEXT[],
    p_only TEXT
) RETURNS TABLE (
    o_instance TEXT,
    o_token UUID,
    o_name TEXT,
    o_version TEXT,
    o_execution BIGINT,
    o_incarnation BIGINT,
    o_last_event BIGINT,
    o_last_commit BIGINT,
    o_message_ids BIGINT[],
    o_messages TEXT[],
    o_attempts INTEGER,
    o_history TEXT[],
    -- Bytes of the history, or of its first events.
    o_history_bytes BIGINT,
    o_kv_keys TEXT[],
    o_kv_values TEXT[],
    o_kv_times BIGINT[],
    o_now BIGINT,
    o_due BIGINT,
    o_unfinished BOOLEAN,
    o_aside_instances TEXT[],
    o_aside_counts BIGINT[],
    o_aside_dropped BOOLEAN[],
    o_expired_instances TEXT[],
    o_expired_tokens UUID[]
)
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_sort = off
AS $body$
DECLARE
    c_asked CONSTANT INTEGER := 512;
    v_now BIGINT := coalesce(p_now, {schema}.now_ms());
    v_chosen TEXT[];
    v_left TEXT[] := p_skip;
    v_pins BYTEA[];
    v_found INTEGER := 0;
    v_locked INTEGER;
    v_due BIGINT;
    v_unfinished BOOLEAN := TRUE;
    -- More may be ready than the last round has read.
    v_more BOOLEAN;
    v_row RECORD;
BEGIN
    IF p_free IS NOT NULL THEN
        PERFORM {schema}.extend_turns{v}(v_now, p_lock_for, h_instance, h_token);
        -- Others may have expired since the caller asked.
        v_due := v_now + 1000;
    END IF;
    -- Another round is needed only if messages were set aside that came before others. Each holds
    -- the locks of its instances: more rounds are a call of their own.
    FOR v_round IN 1..4 LOOP
        v_chosen := '{}';
        -- Instances with expired leases come first: their messages are late already.
        IF p_only IS NULL AND EXISTS (
            SELECT 1 FROM {schema}.instance_locks l WHERE l.locked_until <= v_now)
        THEN
            IF {schema}.end_suspensions{v}(v_now) THEN
                v_due := v_now + 1;
            END IF;
            IF p_asks THEN
                SELECT array_agg(e.o_instance), array_agg(e.o_token)
                INTO o_expired_instances, o_expired_tokens FROM (
                    SELECT x.o_instance, x.o_token
                    FROM {schema}.expired_turns{v}(v_now, p_from, p_to, p_code, p_skip) AS x
                    LIMIT c_asked) AS e;
                EXIT WHEN o_expired_tokens IS NOT NULL;
            ELSE
                FOR v_row IN
                    SELECT e.o_instance AS instance_id
                    FROM {schema}.expired_turns{v}(v_now, p_from, p_to, p_code, p_skip) AS e
                    WHERE p_free IS NULL OR e.o_token = ANY (p_free)
                LOOP
                    EXIT WHEN v_found + cardinality(v_chosen) >= p_turns_max;
                    CONTINUE WHEN v_row.instance_id = ANY (v_left);
                    IF pg_try_advisory_xact_lock({schema}.instance_key(v_row.instance_id)) THEN
                        v_chosen := v_chosen || v_row.instance_id;
                    END IF;
                END LOOP;
            END IF;
            IF cardinality(v_chosen) > 0 THEN
                PERFORM {schema}.count_expired_attempts{v}(v_now, v_chosen);
                -- What another transaction holds may be free in a moment.
                IF EXISTS (
                    SELECT 1 FROM {schema}.instance_locks l WHERE l.instance_id = ANY (v_chosen))
                THEN
                    v_due := least(v_due, v_now + 1000);
                END IF;
            END IF;
        END IF;
        IF p_only IS NULL THEN
            SELECT v_chosen || c.o_chosen, c.o_left, c.o_pins, least(v_due, c.o_due),
                c.o_unfinished
            INTO v_chosen, v_left, v_pins, v_due, v_more
            FROM {schema}.choose_turns{v}(v_now, p_turns_max - v_found - cardinality(v_chosen),
                p_from, p_to, p_code, p_node, p_grace, v_left || v_chosen) AS c;
        ELSE
            v_chosen := ARRAY[p_only];
            PERFORM {schema}.turn_route{v}(p_only);
            PERFORM {schema}.count_expired_attempts{v}(v_now, v_chosen);
        END IF;
        IF cardinality(v_chosen) = 0 AND p_turns_max > 0 THEN
            v_unfinished := v_more;
            EXIT;
        END IF;
        -- A lease need not survive a crash of the server: its holder fetches again.
        PERFORM set_config('synchronous_commit', 'off', TRUE);
        -- Leases the chosen instances that exist or have a start.
        RETURN QUERY
        WITH wanted AS MATERIALIZED (
            SELECT c.instance_id, c.place, gen_random_uuid() AS token,
                i.orchestration_name, i.orchestration_version, i.incarnation, i.warm_node,
                coalesce(i.current_execution_id, (
                    SELECT max(h.execution_id) FROM {schema}.history h
                    WHERE h.instance_id = c.instance_id)) AS execution_id,
                CASE WHEN behind.bytes >= p_alone_bytes THEN behind.attempts
                    ELSE greatest(m.attempts, behind.attempts, cancel.attempts) END AS attempts,
                m.starts OR behind.id IS NOT NULL AS starts,
                CASE WHEN behind.bytes >= p_alone_bytes THEN behind.bytes
                    ELSE m.bytes + coalesce(behind.bytes, cancel.bytes, 0) END AS bytes,
                CASE WHEN behind.bytes >= p_alone_bytes THEN ARRAY[behind.id]
                    WHEN behind.id IS NOT NULL THEN m.ids || behind.id
                    WHEN cancel.id IS NOT NULL THEN m.ids || cancel.id ELSE m.ids END AS ids,
                CASE WHEN behind.bytes >= p_alone_bytes THEN ARRAY[behind.work_item]
                    WHEN behind.id IS NOT NULL THEN m.texts || behind.work_item
                    WHEN cancel.id IS NOT NULL THEN m.texts || cancel.work_item
                    ELSE m.texts END AS texts
            FROM unnest(v_chosen) WITH ORDINALITY AS c (instance_id, place)
            LEFT JOIN {schema}.instances i ON i.instance_id = c.instance_id
            CROSS JOIN LATERAL (
                -- The index returns them in order. A turn takes the first of them.
                SELECT array_agg(o.id) FILTER (WHERE o.fits) AS ids,
                    array_agg(o.work_item) FILTER (WHERE o.fits) AS texts,
                    max(o.attempt_count) FILTER (WHERE o.fits) + 1 AS attempts,
                    sum(o.bytes) FILTER (WHERE o.fits) AS bytes,
                    bool_or(o.fits AND o.kind = {KIND_START}) AS starts,
                    count(*) = p_messages_max OR NOT bool_and(o.fits) AS is_cut
                FROM (
                    SELECT f.id, f.work_item, f.attempt_count, f.kind, f.bytes,
                        CASE WHEN f.alone IS NOT NULL THEN f.id = f.alone
                            ELSE f.until <= p_bytes_max OR f.until = f.bytes END AS fits
                    FROM (
                        SELECT q.id, q.work_item, q.attempt_count, q.kind, q.bytes,
                            sum(q.bytes) OVER (ORDER BY q.id) AS until,
                            min(q.id) FILTER (
                                WHERE q.kind = {KIND_START} AND q.bytes >= p_alone_bytes) OVER ()
                                AS alone
                        FROM (
                            SELECT q.id, q.work_item, q.attempt_count, q.kind,
                                octet_length(q.work_item) AS bytes
                            FROM {schema}.orchestrator_queue q
                            WHERE q.instance_id = c.instance_id AND q.visible_at <= v_now
                                AND NOT q.parked
                            ORDER BY q.id LIMIT p_messages_max
                        ) AS q
                    ) AS f
                ) AS o
            ) AS m
            -- A start behind them: without it the code cannot run. A continuation comes before any
            -- other start, because an instance that exists can only be continued.
            LEFT JOIN LATERAL (
                SELECT q.id, q.work_item, octet_length(q.work_item) AS bytes,
                    q.attempt_count + 1 AS attempts
                FROM {schema}.orchestrator_queue q
                WHERE m.is_cut AND NOT m.starts AND q.instance_id = c.instance_id
                    AND q.kind = {KIND_START} AND q.visible_at <= v_now AND NOT q.parked
                ORDER BY q.work_item NOT LIKE '__ContinueAsNew_%', q.id LIMIT 1
            ) AS behind ON TRUE
            -- A cancellation behind them does not wait for the turns of all that came before it.
            LEFT JOIN LATERAL (
                SELECT q.id, q.work_item, octet_length(q.work_item) AS bytes,
                    q.attempt_count + 1 AS attempts
                FROM {schema}.orchestrator_queue q
                WHERE m.is_cut AND NOT m.starts AND behind.id IS NULL
                    AND q.instance_id = c.instance_id AND q.id > m.ids[cardinality(m.ids)]
                    AND left(q.work_item, 17) LIKE '_"CancelInstance"'
                    AND q.visible_at <= v_now AND NOT q.parked
                ORDER BY q.id LIMIT 1
            ) AS cancel ON TRUE
            -- Another node may have leased and even committed the turn since it was chosen.
            WHERE m.ids IS NOT NULL AND NOT EXISTS (
                SELECT 1 FROM {schema}.instance_locks l WHERE l.instance_id = c.instance_id)
        ), fitting AS (
            SELECT w.*, sum(w.bytes) OVER (ORDER BY w.place) AS until FROM wanted w
            WHERE w.execution_id IS NOT NULL OR w.starts
        ), locked AS (
            INSERT INTO {schema}.instance_locks
                (instance_id, lock_token, locked_until, message_ids, locked_at)
            SELECT w.instance_id, w.token, v_now + p_lock_for, w.ids, v_now FROM fitting w
            WHERE w.until <= p_fetch_bytes_max OR w.until = w.bytes
            ON CONFLICT DO NOTHING
            RETURNING instance_locks.instance_id
        )
        SELECT w.instance_id, w.token, w.orchestration_name, w.orchestration_version,
            w.execution_id, w.incarnation, last.event_id, last.commit_id, w.ids, w.texts, w.attempts,
            CASE WHEN last.event_id <= p_inline_events_max AND size.history <= p_inline_bytes_max
                THEN (
                    SELECT array_agg(h.event_data ORDER BY h.event_id) FROM {schema}.history h
                    WHERE h.instance_id = w.instance_id AND h.execution_id = w.execution_id)
            END,
            size.history,
            CASE WHEN size.values <= p_inline_bytes_max THEN kv.keys END, kv.values, kv.times, NULL::BIGINT, NULL::BIGINT, NULL::BOOLEAN,
            NULL::TEXT[], NULL::BIGINT[], NULL::BOOLEAN[], NULL::TEXT[], NULL::UUID[]
        FROM locked k
        JOIN wanted w ON w.instance_id = k.instance_id
        LEFT JOIN LATERAL (
            SELECT h.event_id, h.commit_id FROM {schema}.history h
            WHERE h.instance_id = w.instance_id AND h.execution_id = w.execution_id
            ORDER BY h.event_id DESC LIMIT 1
        ) AS last ON TRUE
        -- Null if this node probably has the execution in memory.
        CROSS JOIN LATERAL (
            SELECT CASE WHEN w.warm_node IS DISTINCT FROM p_node THEN (
                SELECT sum(octet_length(f.event_data)) FROM (
                    SELECT h.event_data FROM {schema}.history h
                    WHERE h.instance_id = w.instance_id AND h.execution_id = w.execution_id
                    ORDER BY h.event_id LIMIT p_inline_events_max
                ) AS f) END AS history,
                CASE WHEN w.warm_node IS DISTINCT FROM p_node THEN (
                    SELECT coalesce(sum(octet_length(s.value)), 0) FROM {schema}.kv_store s
                    WHERE s.instance_id = w.instance_id) END AS values
        ) AS size
        CROSS JOIN LATERAL (
            SELECT coalesce(array_agg(s.key), '{}') AS keys, array_agg(s.value) AS values,
                array_agg(s.last_updated_at_ms) AS times
            FROM {schema}.kv_store s
            WHERE s.instance_id = w.instance_id AND size.values <= p_inline_bytes_max
        ) AS kv
        ORDER BY w.place;
        GET DIAGNOSTICS v_locked = ROW_COUNT;
        v_found := v_found + v_locked;
        IF v_locked = cardinality(v_chosen) THEN
            v_unfinished := v_more;
            EXIT;
        END IF;
        SELECT o_aside_instances || coalesce(array_agg(a.o_instance), '{}'),
            o_aside_counts || coalesce(array_agg(a.o_count), '{}'),
            o_aside_dropped || coalesce(array_agg(a.o_dropped), '{}')
        INTO o_aside_instances, o_aside_counts, o_aside_dropped
        FROM {schema}.set_orphans_aside{v}(v_now, v_chosen) AS a;
        EXIT WHEN p_only IS NOT NULL;
        -- The call is full if one of them still waits.
        EXIT WHEN v_found > 0 AND EXISTS (
            SELECT 1 FROM unnest(v_chosen) AS c (instance_id)
            WHERE NOT EXISTS (
                    SELECT 1 FROM {schema}.instance_locks l WHERE l.instance_id = c.instance_id)
                AND EXISTS (
                    SELECT 1 FROM {schema}.orchestrator_queue q
                    WHERE q.instance_id = c.instance_id AND q.visible_at <= v_now
                        AND NOT q.parked));
        -- One call leases no instance twice, not even under a lease that expires at once.
        v_left := v_left || v_chosen;
    END LOOP;
    IF v_found < p_turns_max OR p_turns_max = 0 THEN
        SELECT least(v_due, min(d.due)) INTO v_due FROM (
            SELECT n.due FROM unnest(v_pins) AS p (pin)
            CROSS JOIN LATERAL (
                SELECT q.visible_at AS due FROM {schema}.orchestrator_queue q
                WHERE NOT q.parked AND q.pin = p.pin AND q.visible_at > v_now
                ORDER BY q.visible_at LIMIT 1) AS n
            UNION ALL
            (SELECT l.locked_until FROM {schema}.instance_locks l
             WHERE l.locked_until > v_now ORDER BY l.locked_until LIMIT 1)
        ) AS d;
    END IF;
    o_instance := NULL;
    o_now := v_now;
    o_due := v_due;
    o_unfinished := v_unfinished;
    RETURN NEXT;
END
$body$;
