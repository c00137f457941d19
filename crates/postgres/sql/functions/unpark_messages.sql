-- Makes the parked messages of instances fetchable.
CREATE OR REPLACE FUNCTION {schema}.unpark_messages{v}(p_instances TEXT[]) RETURNS VOID
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off
AS $body$
BEGIN
    UPDATE {schema}.orchestrator_queue q SET parked = FALSE
    WHERE q.instance_id = ANY (p_instances) AND q.parked;
END
$body$;
