-- The code that instances need has changed: their messages are listed under no route, and a fetch
-- finds it out.
CREATE OR REPLACE FUNCTION {schema}.forget_routes{v}(p_instances TEXT[]) RETURNS VOID
LANGUAGE plpgsql AS $body$
BEGIN
    UPDATE {schema}.orchestrator_queue q SET pin = '\x'
    WHERE q.instance_id = ANY (p_instances) AND q.pin <> '\x';
END
$body$;
