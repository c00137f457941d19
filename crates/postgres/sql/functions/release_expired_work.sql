-- Makes activities with expired leases ready. The token stays: its holder may still return the
-- activity until another worker leases it.
CREATE OR REPLACE FUNCTION {schema}.release_expired_work{v}(p_now BIGINT) RETURNS VOID
LANGUAGE plpgsql AS $body$
BEGIN
    UPDATE {schema}.worker_queue q SET locked_until = NULL
    FROM (
        SELECT w.id FROM {schema}.worker_queue w WHERE w.locked_until <= p_now
        FOR UPDATE SKIP LOCKED) AS expired
    WHERE q.id = expired.id;
END
$body$;
