-- Continues a deletion for about `p_slice` milliseconds, with what was hidden last first. Children
-- are hidden before the rows of their parents are removed: `o_hidden`, at most `p_hidden_max`. `o_starts` are instances whose
-- queued starts of children the caller deletes, before their histories are removed, which name
-- them. An id is free once all rows of its instance are gone; `o_freed` says that some are. `o_busy`
-- means that other transactions hold all of it.
CREATE OR REPLACE FUNCTION {schema}.remove_deleted{v}(
    p_now BIGINT, p_deletion UUID, p_window BIGINT, p_slice BIGINT, p_hidden_max INTEGER,
    OUT o_instances BIGINT, OUT o_executions BIGINT, OUT o_events BIGINT, OUT o_messages BIGINT,
    OUT o_hidden TEXT[], OUT o_starts TEXT[], OUT o_freed BOOLEAN, OUT o_busy BOOLEAN,
    OUT o_unfinished BOOLEAN
)
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $body$
DECLARE
    c_listed_max CONSTANT INTEGER := 256;
    c_rows_max CONSTANT BIGINT := 1024;
    c_slice_max CONSTANT BIGINT := 4096;
    v_until TIMESTAMPTZ := clock_timestamp() + make_interval(secs => p_slice / 1000.0);
    v_rows BIGINT := 64;
    v_count BIGINT;
    v_sum BIGINT := 0;
    v_numbers BIGINT[];
    v_ids TEXT[];
    v_executions BIGINT[];
    v_lasts BIGINT[];
    v_expiries BIGINT[];
    -- Instances that go as a whole.
    v_whole TEXT[];
BEGIN
    o_instances := 0;
    o_executions := 0;
    o_events := 0;
    o_messages := 0;
    o_freed := FALSE;
    o_unfinished := TRUE;
    -- The lock keeps a child from being created: its commit refers to this row.
    SELECT array_agg(l.number), array_agg(l.instance_id), array_agg(l.execution_id),
        array_agg(l.last_message), array_agg(l.ids_until),
        array_agg(l.instance_id) FILTER (WHERE l.has_starts)
    INTO v_numbers, v_ids, v_executions, v_lasts, v_expiries, o_starts FROM (
        SELECT d.number, d.instance_id, d.execution_id, d.last_message, d.ids_until, d.has_starts
        FROM {schema}.deletions d
        WHERE d.deletion = p_deletion ORDER BY d.number DESC LIMIT c_listed_max
        FOR UPDATE SKIP LOCKED) AS l;
    o_busy := v_numbers IS NULL;
    IF o_busy THEN
        o_unfinished := EXISTS (
            SELECT 1 FROM {schema}.deletions d WHERE d.deletion = p_deletion);
        RETURN;
    END IF;
    UPDATE {schema}.deletions d SET touched_at = clock_timestamp()
    WHERE d.number = ANY (v_numbers);
    SELECT coalesce(array_agg(w.instance_id), '{}') INTO v_whole
    FROM unnest(v_ids, v_executions) AS w (instance_id, execution_id) WHERE w.execution_id = 0;
    IF EXISTS (
        SELECT 1 FROM unnest(v_whole) AS w (instance_id)
        CROSS JOIN LATERAL (
            SELECT 1 FROM {schema}.instances i
            WHERE i.parent_instance_id = w.instance_id LIMIT 1) AS c)
    THEN
        SELECT array_agg(c.instance_id) INTO o_hidden FROM (
            SELECT c.instance_id FROM unnest(v_whole) AS w (instance_id)
            CROSS JOIN LATERAL (
                SELECT i.instance_id FROM {schema}.instances i
                WHERE i.parent_instance_id = w.instance_id LIMIT p_hidden_max) AS c
            LIMIT p_hidden_max) AS c;
        IF o_hidden IS NOT NULL THEN
            PERFORM {schema}.lock_for_deletion{v}(o_hidden);
            o_instances := {schema}.hide_instances{v}(
                coalesce(p_now, {schema}.now_ms()), o_hidden, p_deletion, p_window);
        END IF;
        RETURN;
    ELSIF o_starts IS NOT NULL THEN
        RETURN;
    END IF;
    -- Histories come last: while an instance has one, no first turn of its id is committed.
    FOR v_step IN 1..7 LOOP
        LOOP
            CASE v_step
            -- Activities first: while they run, they may still add messages.
            WHEN 1 THEN
                WITH slice AS MATERIALIZED (
                    SELECT w.id FROM {schema}.worker_queue w WHERE w.instance_id = ANY (v_whole)
                    LIMIT v_rows
                ), locked AS MATERIALIZED (
                    SELECT w.id FROM {schema}.worker_queue w
                    WHERE w.id IN (SELECT s.id FROM slice s) ORDER BY w.id FOR UPDATE)
                DELETE FROM {schema}.worker_queue q USING locked WHERE q.id = locked.id;
            WHEN 2 THEN
                DELETE FROM {schema}.kv_store k USING (
                    SELECT s.instance_id, s.key FROM {schema}.kv_store s
                    WHERE s.instance_id = ANY (v_whole) LIMIT v_rows) AS slice
                WHERE k.instance_id = slice.instance_id AND k.key = slice.key;
            WHEN 3 THEN
                DELETE FROM {schema}.kv_delta k USING (
                    SELECT s.instance_id, s.key FROM {schema}.kv_delta s
                    WHERE s.instance_id = ANY (v_whole) LIMIT v_rows) AS slice
                WHERE k.instance_id = slice.instance_id AND k.key = slice.key;
            WHEN 4 THEN
                DELETE FROM {schema}.message_ids m USING (
                    SELECT s.instance_id, s.message_id
                    FROM unnest(v_ids, v_executions, v_expiries)
                        AS d (instance_id, execution_id, until)
                    CROSS JOIN LATERAL (
                        SELECT s.instance_id, s.message_id FROM {schema}.message_ids s
                        WHERE s.instance_id = d.instance_id AND s.expires_at < d.until
                        LIMIT v_rows) AS s
                    WHERE d.execution_id = 0
                    LIMIT v_rows) AS slice
                WHERE m.instance_id = slice.instance_id AND m.message_id = slice.message_id;
            WHEN 5 THEN
                DELETE FROM {schema}.executions e USING (
                    SELECT s.instance_id, s.execution_id FROM {schema}.executions s
                    WHERE s.instance_id = ANY (v_whole) LIMIT v_rows) AS slice
                WHERE e.instance_id = slice.instance_id AND e.execution_id = slice.execution_id;
            WHEN 6 THEN
                DELETE FROM {schema}.orchestrator_queue q USING (
                    SELECT s.instance_id, s.id
                    FROM unnest(v_ids, v_executions, v_lasts)
                        AS d (instance_id, execution_id, last_message)
                    CROSS JOIN LATERAL (
                        SELECT s.instance_id, s.id FROM {schema}.orchestrator_queue s
                        WHERE s.instance_id = d.instance_id
                            -- Results that came meanwhile are for the deleted instance too.
                            AND (s.id <= d.last_message
                                OR left(s.work_item, 12) SIMILAR TO '_"(Activity|SubOrch)%')
                        LIMIT v_rows) AS s
                    WHERE d.execution_id = 0
                    LIMIT v_rows) AS slice
                WHERE q.instance_id = slice.instance_id AND q.id = slice.id;
            WHEN 7 THEN
                DELETE FROM {schema}.history h USING (
                    SELECT s.instance_id, s.execution_id, s.event_id
                    FROM unnest(v_ids, v_executions) AS d (instance_id, execution_id)
                    CROSS JOIN LATERAL (
                        SELECT s.instance_id, s.execution_id, s.event_id FROM {schema}.history s
                        WHERE s.instance_id = d.instance_id
                            AND (d.execution_id = 0 OR s.execution_id = d.execution_id)
                        LIMIT v_rows) AS s
                    LIMIT v_rows) AS slice
                WHERE h.instance_id = slice.instance_id AND h.execution_id = slice.execution_id
                    AND h.event_id = slice.event_id;
            END CASE;
            GET DIAGNOSTICS v_count = ROW_COUNT;
            o_executions := o_executions + CASE WHEN v_step = 5 THEN v_count ELSE 0 END;
            o_messages := o_messages + CASE WHEN v_step IN (1, 6) THEN v_count ELSE 0 END;
            o_events := o_events + CASE WHEN v_step = 7 THEN v_count ELSE 0 END;
            EXIT WHEN v_count = 0;
            v_sum := v_sum + v_count;
            IF v_sum >= c_slice_max OR clock_timestamp() > v_until THEN
                RETURN;
            END IF;
            v_rows := least(v_rows * 2, c_rows_max);
        END LOOP;
        -- What another transaction has taken may hide more: a later call finds out.
        IF v_step = 1 AND EXISTS (
            SELECT 1 FROM {schema}.worker_queue w WHERE w.instance_id = ANY (v_whole))
        THEN
            RETURN;
        END IF;
    END LOOP;
    DELETE FROM {schema}.instance_locks l
    WHERE l.instance_id = ANY (v_whole) AND l.lock_token = p_deletion;
    DELETE FROM {schema}.deletions d WHERE d.number = ANY (v_numbers);
    -- Of single executions too: another instance of that id has executions of the same number.
    DELETE FROM {schema}.deletions d WHERE d.instance_id = ANY (v_whole);
    -- Messages for another instance of that id stood behind those of the deleted one.
    PERFORM {schema}.list_next_messages{v}(v_whole);
    o_freed := TRUE;
    o_unfinished := EXISTS (SELECT 1 FROM {schema}.deletions d WHERE d.deletion = p_deletion);
END
$body$;
