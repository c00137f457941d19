-- An expired lease is one attempt of the messages that it held. Removes it. Leaves a lease alone
-- that another transaction is changing: its holder may be committing it. The attempt is excused if
-- the code of the turn was not running. Some count without proof: what ends its node outside its
-- code must be poison in the end.
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
        RETURNING l.instance_id, l.message_ids, l.running)
    UPDATE {schema}.orchestrator_queue q
    SET attempt_count = q.attempt_count + 1,
        excused = CASE
            WHEN expired.running AND q.attempt_count <= 1 THEN 0
            WHEN expired.running OR (q.attempt_count + 1) % 10 = 0 THEN q.excused
            ELSE q.excused + 1
        END
    FROM expired
    WHERE q.instance_id = expired.instance_id AND q.id = ANY (expired.message_ids);
END
$body$;
