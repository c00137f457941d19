-- The code that instances need has changed: their messages are listed under no route, and a fetch
-- finds it out. Of an instance with very many messages hardly any is listed.
CREATE OR REPLACE FUNCTION {schema}.forget_routes{v}(p_instances TEXT[]) RETURNS VOID
LANGUAGE plpgsql AS $body$
DECLARE
    c_read_max CONSTANT INTEGER := 1000;
    v_instance TEXT;
    v_ids BIGINT[];
BEGIN
    IF NOT EXISTS (
        SELECT 1 FROM unnest(p_instances) AS i (instance_id)
        WHERE (
            SELECT 1 FROM {schema}.orchestrator_queue q
            WHERE q.instance_id = i.instance_id OFFSET c_read_max LIMIT 1) = 1)
    THEN
        UPDATE {schema}.orchestrator_queue q SET pin = '\x'
        WHERE q.instance_id = ANY (p_instances) AND q.pin > '\x00';
        RETURN;
    END IF;
    FOREACH v_instance IN ARRAY p_instances LOOP
        v_ids := ARRAY(
            SELECT m.o_id FROM {schema}.listed_messages{v}(v_instance, c_read_max) AS m);
        -- Those far behind stay so: see `message_pin`.
        UPDATE {schema}.orchestrator_queue q
        SET pin = CASE WHEN q.far THEN '\x00'::BYTEA ELSE '\x' END
        WHERE q.instance_id = v_instance AND q.id = ANY (v_ids);
    END LOOP;
END
$body$;
