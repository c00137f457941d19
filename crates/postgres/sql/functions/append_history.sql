-- Appends events unchanged, for seeding, and makes the parked messages of the instance fetchable.
CREATE OR REPLACE FUNCTION {schema}.append_history{v}(
    p_now BIGINT, p_instance TEXT, p_execution BIGINT,
    e_id BIGINT[], e_type TEXT[], e_data TEXT[]
) RETURNS VOID
LANGUAGE plpgsql AS $body$
BEGIN
    PERFORM {schema}.lock_instances{v}(ARRAY[p_instance]);
    INSERT INTO {schema}.history
        (instance_id, execution_id, event_id, event_type, event_data, created_at)
    SELECT p_instance, p_execution, e.event_id, e.event_type, e.event_data,
        coalesce(p_now, {schema}.now_ms())
    FROM unnest(e_id, e_type, e_data) AS e (event_id, event_type, event_data);
    PERFORM {schema}.unpark_messages{v}(ARRAY[p_instance]);
END
$body$;
