-- Adds a message of a client, unless its id was used before or its instance is missing. A start is
-- added only if its instance is new.
CREATE OR REPLACE FUNCTION {schema}.send_message{v}(
    p_now BIGINT, p_instance TEXT, p_item TEXT, p_kind SMALLINT, p_code BYTEA, p_id TEXT,
    p_window BIGINT, p_existing_only BOOLEAN, p_start BOOLEAN,
    OUT o_enqueued BOOLEAN, OUT o_found BOOLEAN, OUT o_known BOOLEAN
)
LANGUAGE plpgsql AS $body$
DECLARE
    v_now BIGINT := coalesce(p_now, {schema}.now_ms());
    v_deleted_until BIGINT;
BEGIN
    o_enqueued := FALSE;
    o_found := FALSE;
    o_known := FALSE;
    IF p_start THEN
        -- Until the transaction ends, no other one starts or deletes the instance. A large turn
        -- that starts it holds only its parking lock.
        PERFORM {schema}.lock_instances{v}(ARRAY[p_instance]);
        PERFORM pg_advisory_xact_lock({schema}.parking_key{v}(p_instance));
    END IF;
    IF p_existing_only OR p_start THEN
        -- What is left of a deleted instance does not count.
        SELECT d.last_message INTO v_deleted_until FROM {schema}.deletions d
        WHERE d.instance_id = p_instance AND d.execution_id = 0;
        o_found := EXISTS (SELECT 1 FROM {schema}.instances i WHERE i.instance_id = p_instance)
            OR v_deleted_until IS NULL AND EXISTS (
                SELECT 1 FROM {schema}.history h WHERE h.instance_id = p_instance)
            OR EXISTS (
                SELECT 1 FROM {schema}.orchestrator_queue q
                WHERE q.instance_id = p_instance AND q.kind = {KIND_START}
                    AND q.id > coalesce(v_deleted_until, 0));
        IF p_existing_only AND NOT o_found THEN
            RETURN;
        END IF;
        IF p_start AND o_found AND NOT EXISTS (
            SELECT 1 FROM {schema}.message_ids m
            WHERE m.instance_id = p_instance AND m.message_id = p_id)
        THEN
            RETURN;
        END IF;
    END IF;
    -- A transaction that sends the same message now goes first.
    INSERT INTO {schema}.message_ids (instance_id, message_id, expires_at)
    VALUES (p_instance, p_id, v_now + p_window) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        o_known := TRUE;
        RETURN;
    END IF;
    -- Each message removes more than it adds, so that the table stays as small as the window.
    DELETE FROM {schema}.message_ids m USING (
        SELECT d.instance_id, d.message_id FROM {schema}.message_ids d
        WHERE d.expires_at <= v_now ORDER BY d.expires_at LIMIT 4 FOR UPDATE SKIP LOCKED
    ) AS expired
    WHERE m.instance_id = expired.instance_id AND m.message_id = expired.message_id;
    PERFORM {schema}.insert_messages{v}(
        v_now, ARRAY[p_instance], ARRAY[p_item], ARRAY[v_now], ARRAY[p_kind],
        ARRAY[p_code]);
    o_enqueued := TRUE;
END
$body$;
