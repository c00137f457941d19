-- An expired lease counts as one attempt of the messages that it held. Removes it.
CREATE OR REPLACE FUNCTION {schema}.count_expired_attempts{v}(p_now BIGINT, p_instances TEXT[])
RETURNS VOID
LANGUAGE plpgsql AS $body$
BEGIN
    WITH expired AS (
        DELETE FROM {schema}.instance_locks l
        WHERE l.instance_id = ANY (p_instances) AND l.locked_until <= p_now
        RETURNING l.instance_id, l.message_ids)
    UPDATE {schema}.orchestrator_queue q SET attempt_count = q.attempt_count + 1
    FROM expired
    WHERE q.instance_id = expired.instance_id AND q.id = ANY (expired.message_ids);
END
$body$;
