-- The time that everything is judged by: this server's, whatever the nodes believe.
CREATE FUNCTION {schema}.now_ms() RETURNS BIGINT
LANGUAGE sql VOLATILE PARALLEL SAFE AS $body$
    SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::BIGINT
$body$;

-- One key for each instance of this schema. Whoever hands an instance out, starts it or deletes it
-- holds this lock until the end of its transaction.
CREATE FUNCTION {schema}.instance_key(p_instance TEXT) RETURNS BIGINT
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $body$
    SELECT hashtextextended(p_instance, {seed})
$body$;

-- Waits for the keys in one order, so that two callers cannot wait for each other.
CREATE FUNCTION {schema}.hold_instances(p_instances TEXT[]) RETURNS VOID
LANGUAGE plpgsql AS $body$
DECLARE
    v_key BIGINT;
BEGIN
    IF cardinality(p_instances) = 1 THEN
        PERFORM pg_advisory_xact_lock({schema}.instance_key(p_instances[1]));
        RETURN;
    END IF;
    FOR v_key IN
        SELECT DISTINCT {schema}.instance_key(instance_id)
        FROM unnest(p_instances) AS given (instance_id) ORDER BY 1
    LOOP
        PERFORM pg_advisory_xact_lock(v_key);
    END LOOP;
END
$body$;

-- Adds messages in order, visible at a time of their own or at once. A start wakes what was parked
-- for its instance.
CREATE FUNCTION {schema}.put_messages(
    p_now BIGINT, m_instance TEXT[], m_item TEXT[], m_visible_at BIGINT[], m_kind SMALLINT[]
) RETURNS VOID
LANGUAGE plpgsql AS $body$
DECLARE
    v_starts TEXT[];
BEGIN
    IF 1 = ALL (m_kind) THEN
        v_starts := m_instance;
    ELSIF 1 = ANY (m_kind) THEN
        SELECT array_agg(m.instance_id) INTO v_starts
        FROM unnest(m_instance, m_kind) AS m (instance_id, kind) WHERE m.kind = 1;
    END IF;
    IF v_starts IS NOT NULL THEN
        -- A fetch that sets messages of this instance aside has to see the start, or we its work.
        PERFORM {schema}.hold_instances(v_starts);
    END IF;
    INSERT INTO {schema}.orchestrator_queue (instance_id, work_item, visible_at, created_at, kind)
    SELECT m.instance_id, m.work_item, coalesce(m.visible_at, p_now), p_now, m.kind
    FROM unnest(m_instance, m_item, m_visible_at, m_kind)
        AS m (instance_id, work_item, visible_at, kind);
    IF v_starts IS NOT NULL THEN
        PERFORM {schema}.unpark(v_starts);
    END IF;
END
$body$;

-- Makes the parked messages of instances fetchable.
CREATE FUNCTION {schema}.unpark(p_instances TEXT[]) RETURNS VOID
LANGUAGE plpgsql AS $body$
BEGIN
    UPDATE {schema}.orchestrator_queue q SET parked = FALSE
    WHERE q.instance_id = ANY (p_instances) AND q.parked;
END
$body$;

-- Adds messages for callers. Some may be starts whose first turns are out already: these have the
-- tokens of their leases.
CREATE FUNCTION {schema}.enqueue_messages(
    p_now BIGINT, m_instance TEXT[], m_item TEXT[], m_delay BIGINT[], m_kind SMALLINT[],
    m_token UUID[], m_lock_for BIGINT[]
) RETURNS BIGINT
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off
AS $body$
DECLARE
    v_now BIGINT := coalesce(p_now, {schema}.now_ms());
    v_visible_at BIGINT[] := m_delay;
BEGIN
    IF 0 = ALL (m_delay) THEN
        v_visible_at := array_fill(v_now, ARRAY[cardinality(m_delay)]);
    ELSE
        SELECT array_agg(v_now + d.delay ORDER BY d.place) INTO v_visible_at
        FROM unnest(m_delay) WITH ORDINALITY AS d (delay, place);
    END IF;
    PERFORM {schema}.put_messages(v_now, m_instance, m_item, v_visible_at, m_kind);
    IF array_position(m_lock_for, NULL) IS NULL OR 0 <= ANY (m_lock_for) THEN
        PERFORM {schema}.lease_starts(v_now, m_instance, m_token, m_lock_for);
    END IF;
    RETURN v_now;
END
$body$;

-- Leases the first turns of instances whose starts were just added, if they are new. Such a turn
-- knows of nothing but its start: what else waits is left to the next one. The caller holds the
-- keys of the instances.
CREATE FUNCTION {schema}.lease_starts(
    p_now BIGINT, m_instance TEXT[], m_token UUID[], m_lock_for BIGINT[]
) RETURNS VOID
LANGUAGE plpgsql AS $body$
BEGIN
    INSERT INTO {schema}.instance_locks (instance_id, lock_token, locked_until, message_ids)
    SELECT s.instance_id, s.token, p_now + s.lock_for, m.starts
    FROM unnest(m_instance, m_token, m_lock_for) AS s (instance_id, token, lock_for)
    CROSS JOIN LATERAL (
        SELECT array_agg(q.id) AS starts FROM {schema}.orchestrator_queue q
        WHERE q.instance_id = s.instance_id AND q.kind = 1
    ) AS m
    WHERE s.token IS NOT NULL AND cardinality(m.starts) = 1
        AND (SELECT 1 FROM {schema}.instances i WHERE i.instance_id = s.instance_id) IS NULL
        AND (
            SELECT 1 FROM {schema}.history h WHERE h.instance_id = s.instance_id LIMIT 1) IS NULL
    ON CONFLICT DO NOTHING;
END
$body$;

-- The current execution of an instance; if that is unknown, the last with events or the first.
CREATE FUNCTION {schema}.current_execution(p_instance TEXT) RETURNS BIGINT
LANGUAGE plpgsql STABLE AS $body$
DECLARE
    v_execution BIGINT;
BEGIN
    SELECT i.current_execution_id INTO v_execution FROM {schema}.instances i
    WHERE i.instance_id = p_instance;
    IF v_execution IS NULL THEN
        SELECT max(h.execution_id) INTO v_execution FROM {schema}.history h
        WHERE h.instance_id = p_instance;
    END IF;
    RETURN coalesce(v_execution, 1);
END
$body$;

-- How the latest executions of instances stand: the event that ended one, or else its first event,
-- which may be wanted in any case.
-- Only cancellations follow a terminal event. While the execution is said to run, the newest events
-- are enough: they only hold a terminal one if it was seeded without its status.
CREATE FUNCTION {schema}.read_outcomes(p_instances TEXT[], p_first_wanted BOOLEAN[])
RETURNS TABLE (o_place INTEGER, o_ended TEXT, o_first TEXT, o_custom TEXT, o_custom_version BIGINT)
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $body$
DECLARE
    v_execution BIGINT;
    v_status TEXT;
BEGIN
    FOR v_place IN 1..cardinality(p_instances) LOOP
        o_place := v_place;
        o_ended := NULL;
        o_first := NULL;
        SELECT i.current_execution_id, e.status, i.custom_status, i.custom_status_version
        INTO v_execution, v_status, o_custom, o_custom_version
        FROM {schema}.instances i LEFT JOIN {schema}.executions e
            ON e.instance_id = i.instance_id AND e.execution_id = i.current_execution_id
        WHERE i.instance_id = p_instances[v_place];
        IF NOT FOUND THEN
            v_execution := {schema}.current_execution(p_instances[v_place]);
            SELECT e.status INTO v_status FROM {schema}.executions e
            WHERE e.instance_id = p_instances[v_place] AND e.execution_id = v_execution;
        END IF;
        SELECT l.event_data INTO o_ended FROM (
            SELECT h.event_type, h.event_data FROM {schema}.history h
            WHERE h.instance_id = p_instances[v_place] AND h.execution_id = v_execution
            ORDER BY h.event_id DESC LIMIT CASE v_status WHEN 'Running' THEN 16 END
        ) AS l
        WHERE l.event_type IN ('OrchestrationCompleted', 'OrchestrationFailed') LIMIT 1;
        IF NOT FOUND OR p_first_wanted[v_place] THEN
            SELECT h.event_data INTO o_first FROM {schema}.history h
            WHERE h.instance_id = p_instances[v_place] AND h.execution_id = v_execution
            ORDER BY h.event_id LIMIT 1;
        END IF;
        RETURN NEXT;
    END LOOP;
END
$body$;

-- Appends events as they are, for seeding, and makes what waited for the instance fetchable.
CREATE FUNCTION {schema}.append_history(
    p_now BIGINT, p_instance TEXT, p_execution BIGINT,
    e_id BIGINT[], e_type TEXT[], e_data TEXT[]
) RETURNS VOID
LANGUAGE plpgsql AS $body$
BEGIN
    PERFORM {schema}.hold_instances(ARRAY[p_instance]);
    INSERT INTO {schema}.history
        (instance_id, execution_id, event_id, event_type, event_data, created_at)
    SELECT p_instance, p_execution, e.event_id, e.event_type, e.event_data,
        coalesce(p_now, {schema}.now_ms())
    FROM unnest(e_id, e_type, e_data) AS e (event_id, event_type, event_data);
    PERFORM {schema}.unpark(ARRAY[p_instance]);
END
$body$;
