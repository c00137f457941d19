-- Expired leases of instances that the caller can replay and that have visible messages, the oldest
-- first.
CREATE OR REPLACE FUNCTION {schema}.expired_turns{v}(p_now BIGINT, p_from BYTEA[], p_to BYTEA[])
RETURNS TABLE (o_instance TEXT, o_token UUID)
LANGUAGE sql STABLE AS $body$
    SELECT l.instance_id, l.lock_token FROM {schema}.instance_locks l
    LEFT JOIN {schema}.instances i ON i.instance_id = l.instance_id
    LEFT JOIN {schema}.executions e
        ON e.instance_id = i.instance_id AND e.execution_id = i.current_execution_id
    WHERE l.locked_until <= p_now
        AND EXISTS (
            SELECT 1 FROM {schema}.orchestrator_queue q
            WHERE q.instance_id = l.instance_id AND q.visible_at <= p_now AND NOT q.parked)
        AND (p_from IS NULL OR e.duroxide_version_key IS NULL OR EXISTS (
            SELECT 1 FROM unnest(p_from, p_to) AS r (from_key, to_key)
            WHERE e.duroxide_version_key BETWEEN r.from_key AND r.to_key))
    ORDER BY l.locked_until, l.instance_id
$body$;
