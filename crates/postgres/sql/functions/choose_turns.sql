-- Chooses instances with ready messages, the oldest first, and holds their advisory locks. It reads
-- only messages under routes that the caller can run, `o_pins`, and none of leased instances. Those
-- of suspended instances it takes off the list, so that later fetches do not read them: the end of
-- a suspension is found by its lease, and lists the first. `o_left` are instances that it passed
-- over, `p_left` among them; `o_due` is when one of them may be leased; `o_unfinished` is true if it
-- stopped before it had read all.
CREATE OR REPLACE FUNCTION {schema}.choose_turns{v}(
    p_now BIGINT, p_wanted INTEGER, p_from BYTEA[], p_to BYTEA[], p_code BYTEA[], p_node BIGINT,
    p_grace BIGINT, p_left TEXT[],
    OUT o_chosen TEXT[], OUT o_left TEXT[], OUT o_pins BYTEA[], OUT o_due BIGINT,
    OUT o_unfinished BOOLEAN
)
LANGUAGE plpgsql AS $body$
DECLARE
    c_read CONSTANT INTEGER := 128;
    v_visible_at BIGINT := 0;
    v_id BIGINT := 0;
    v_count INTEGER;
    v_row RECORD;
    v_route BYTEA;
    v_fits BOOLEAN;
BEGIN
    o_chosen := '{}';
    o_left := p_left;
    o_unfinished := FALSE;
    IF EXISTS (SELECT 1 FROM {schema}.repinned) THEN
        PERFORM {schema}.settle_pins{v}(p_left);
    END IF;
    -- From route to route by one probe of the index each, past those of other code.
    WITH RECURSIVE pins (pin) AS (
        (SELECT q.pin FROM {schema}.orchestrator_queue q
         WHERE NOT q.parked AND q.pin IS NOT NULL ORDER BY q.pin LIMIT 1)
        UNION ALL
        SELECT (SELECT q.pin FROM {schema}.orchestrator_queue q
                WHERE NOT q.parked AND q.pin >= {schema}.route_behind{v}(p.pin, p_code)
                ORDER BY q.pin LIMIT 1)
        FROM pins p WHERE p.pin IS NOT NULL
    )
    SELECT coalesce(array_agg(p.pin), '{}') INTO o_pins FROM pins p
    WHERE p.pin < '\x01' OR {schema}.route_fits{v}(p.pin, p_from, p_to, p_code);
    FOR v_round IN 1..8 LOOP
        v_count := 0;
        FOR v_row IN
            SELECT c.instance_id, c.visible_at, c.id, c.pin, c.is_suspended, i.warm_node,
                i.orchestration_name, i.orchestration_version, e.status, e.duroxide_version_key,
                -- Of an instance that is not stored.
                CASE WHEN i.instance_id IS NULL THEN coalesce((
                    SELECT q.code FROM {schema}.orchestrator_queue q
                    WHERE q.instance_id = c.instance_id AND q.kind = {KIND_START} AND NOT q.parked
                    ORDER BY q.id LIMIT 1), '\x0101') END AS start_route
            FROM (
                SELECT w.instance_id, w.visible_at, w.id, p.pin,
                    -- The others have no lease.
                    (SELECT l.instance_id FROM {schema}.instance_locks l
                     WHERE l.instance_id = w.instance_id) IS NOT NULL AS is_suspended
                FROM unnest(o_pins) AS p (pin)
                CROSS JOIN LATERAL (
                    SELECT q.instance_id, q.visible_at, q.id
                    FROM {schema}.orchestrator_queue q
                    WHERE NOT q.parked AND q.pin = p.pin AND q.visible_at <= p_now
                        AND (q.visible_at, q.id) > (v_visible_at, v_id)
                        AND q.instance_id <> ALL (p_left)
                        -- Of a join the planner would expect few rows, and sort all messages.
                        AND coalesce((
                            SELECT cardinality(l.message_ids) = 0 AND (
                                SELECT i.suspended_since FROM {schema}.instances i
                                WHERE i.instance_id = q.instance_id) IS NOT NULL
                            FROM {schema}.instance_locks l
                            WHERE l.instance_id = q.instance_id), TRUE)
                    ORDER BY q.visible_at, q.id LIMIT c_read) AS w
                ORDER BY w.visible_at, w.id LIMIT c_read
            ) AS c
            LEFT JOIN {schema}.instances i ON i.instance_id = c.instance_id
            LEFT JOIN {schema}.executions e
                ON e.instance_id = i.instance_id AND e.execution_id = i.current_execution_id
            ORDER BY c.visible_at, c.id
        LOOP
            EXIT WHEN cardinality(o_chosen) >= p_wanted;
            v_count := v_count + 1;
            v_visible_at := v_row.visible_at;
            v_id := v_row.id;
            IF v_row.is_suspended THEN
                -- While this call holds the lease, the suspension does not end.
                PERFORM 1 FROM {schema}.instance_locks l
                WHERE l.instance_id = v_row.instance_id AND cardinality(l.message_ids) = 0
                FOR UPDATE SKIP LOCKED;
                IF FOUND THEN
                    UPDATE {schema}.orchestrator_queue q SET pin = NULL
                    WHERE q.instance_id = v_row.instance_id AND q.id = v_row.id;
                    o_unfinished := TRUE;
                END IF;
                CONTINUE;
            END IF;
            CONTINUE WHEN v_row.instance_id = ANY (o_chosen) OR v_row.instance_id = ANY (o_left);
            v_route := CASE WHEN v_row.status = 'Running' THEN
                {schema}.code_key{v}(v_row.orchestration_name, v_row.orchestration_version)
                || coalesce(v_row.duroxide_version_key, '\x')
                ELSE coalesce(v_row.start_route, {schema}.turn_route{v}(v_row.instance_id)) END;
            v_fits := v_route = v_row.pin
                OR {schema}.route_fits{v}(v_route, p_from, p_to, p_code);
            IF v_fits AND v_row.warm_node <> p_node AND v_row.visible_at + p_grace > p_now THEN
                -- Its node has the history in memory and gets a moment to fetch it.
                o_due := least(o_due, v_row.visible_at + p_grace);
                o_left := o_left || v_row.instance_id;
            ELSIF NOT pg_try_advisory_xact_lock({schema}.instance_key(v_row.instance_id)) THEN
                o_left := o_left || v_row.instance_id;
            ELSIF v_fits THEN
                o_chosen := o_chosen || v_row.instance_id;
            ELSE
                -- Under the lock the route does not change. The next fetch does not read it.
                UPDATE {schema}.orchestrator_queue q
                SET pin = {schema}.turn_route{v}(v_row.instance_id),
                    far = q.far OR v_row.pin = '\x00'
                WHERE q.instance_id = v_row.instance_id AND q.id = v_row.id;
                o_unfinished := TRUE;
            END IF;
        END LOOP;
        IF cardinality(o_chosen) >= p_wanted OR v_count < c_read THEN
            o_unfinished := FALSE;
            RETURN;
        END IF;
    END LOOP;
    -- What was passed over may hide more: it is leased by others, or free, after a moment.
    o_due := least(o_due, p_now + greatest(p_grace, 10));
END
$body$;
