-- Keeps instances that a deletion without force is about to delete from running, unless one runs: a
-- lease that holds no messages, like a suspension, in place of any other. If the caller dies, it
-- expires. `o_running` is the first that runs; then nothing changes.
CREATE OR REPLACE FUNCTION {schema}.reserve_instances{v}(
    p_now BIGINT, p_ids TEXT[], p_deletion UUID, p_lock_for BIGINT,
    OUT o_running TEXT
)
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $body$
DECLARE
    v_now BIGINT := coalesce(p_now, {schema}.now_ms());
BEGIN
    PERFORM {schema}.lock_for_deletion{v}(p_ids);
    o_running := {schema}.first_running{v}(p_ids);
    IF o_running IS NOT NULL THEN
        RETURN;
    END IF;
    INSERT INTO {schema}.instance_locks
        (instance_id, lock_token, locked_until, message_ids, locked_at)
    SELECT g.instance_id, p_deletion, v_now + p_lock_for, '{}'::BIGINT[], v_now
    FROM (SELECT DISTINCT u.id FROM unnest(p_ids) AS u (id)) AS g (instance_id)
    -- A suspension or another deletion keeps its own.
    ON CONFLICT (instance_id) DO UPDATE
    SET lock_token = p_deletion, locked_until = excluded.locked_until, message_ids = '{}',
        locked_at = v_now, running = FALSE
    WHERE cardinality(instance_locks.message_ids) > 0 OR instance_locks.locked_until <= v_now;
END
$body$;
