-- Extends expired leases that live nodes of the caller's process hold. Passes over a lease that
-- another transaction is changing: its holder may be committing it.
CREATE OR REPLACE FUNCTION {schema}.extend_turns{v}(
    p_now BIGINT, p_extend_for BIGINT, h_instance TEXT[], h_token UUID[]
) RETURNS VOID
LANGUAGE plpgsql AS $body$
BEGIN
    UPDATE {schema}.instance_locks l SET locked_until = p_now + p_extend_for, locked_at = p_now
    FROM (
        SELECT k.instance_id FROM unnest(h_instance, h_token) AS h (instance_id, token)
        JOIN {schema}.instance_locks k
            ON k.instance_id = h.instance_id AND k.lock_token = h.token
        FOR UPDATE OF k SKIP LOCKED) AS held
    WHERE l.instance_id = held.instance_id;
END
$body$;
