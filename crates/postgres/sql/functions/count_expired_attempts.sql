-- An expired lease counts as one attempt of the messages that it held. Removes it. Leaves a lease
-- alone that another transaction is changing: its holder may be committing it.
CREATE OR REPLACE FUNCTION {schema}.count_expired_attempts{v}(p_now BIGINT, p_instances TEXT[])
RETURNS VOID
LANGUAGE plpgsql AS $body$
BEGIN
    WITH free AS (
        SELECT l.instance_id FROM {schema}.instance_locks l
        WHERE l.instance_id = ANY (p_instances) AND l.locked_until <= p_now
        FOR UPDATE SKIP LOCKED
    ), expired AS (
        DELETE FROM {schema}.instance_locks l USING free WHERE l.instance_id = free.instance_id
        RETURNING l.instance_id, l.message_ids)
    UPDATE {schema}.orchestrator_queue q SET attempt_count = q.attempt_count + 1
    FROM expired
    WHERE q.instance_id = expired.instance_id AND q.id = ANY (expired.message_ids);
END
$body$;
