-- Makes the parked messages of instances fetchable.
CREATE OR REPLACE FUNCTION {schema}.unpark_messages{v}(p_instances TEXT[]) RETURNS VOID
LANGUAGE plpgsql AS $body$
BEGIN
    UPDATE {schema}.orchestrator_queue q SET parked = FALSE
    WHERE q.instance_id = ANY (p_instances) AND q.parked;
END
$body$;
