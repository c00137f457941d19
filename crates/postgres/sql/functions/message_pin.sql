-- The route under which a new message of an instance is listed, or null if it stands behind an
-- earlier one: of an instance with many messages, a fetch need not read more. The shared lock keeps
-- that one in the queue until the caller's transaction ends, so that the commit that consumes it
-- finds the new message. If no earlier one can be locked, the new one is listed far behind the
-- first, under byte 0: a fetch finds out the route, and `listed_messages` finds the message.
CREATE OR REPLACE FUNCTION {schema}.message_pin{v}(p_now BIGINT, p_instance TEXT) RETURNS BYTEA
LANGUAGE plpgsql AS $body$
DECLARE
    c_listed_max CONSTANT INTEGER := 32;
    v_last BIGINT;
BEGIN
    SELECT q.id INTO v_last FROM {schema}.orchestrator_queue q
    WHERE q.instance_id = p_instance ORDER BY q.id OFFSET c_listed_max LIMIT 1;
    IF FOUND THEN
        PERFORM 1 FROM {schema}.orchestrator_queue q
        WHERE q.instance_id = p_instance AND q.id <= v_last AND q.pin IS NOT NULL AND NOT q.parked
            AND q.visible_at <= p_now
        ORDER BY q.id LIMIT 1 FOR KEY SHARE SKIP LOCKED;
        IF FOUND THEN
            RETURN NULL;
        END IF;
        RETURN '\x00';
    END IF;
    -- Of an instance that does not run, a fetch finds out the route.
    RETURN coalesce((
        SELECT {schema}.code_key{v}(i.orchestration_name, i.orchestration_version)
            || coalesce(e.duroxide_version_key, '\x')
        FROM {schema}.instances i
        JOIN {schema}.executions e
            ON e.instance_id = i.instance_id AND e.execution_id = i.current_execution_id
        WHERE i.instance_id = p_instance AND e.status = 'Running'), '\x');
END
$body$;
