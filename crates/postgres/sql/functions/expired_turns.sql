-- Expired leases of instances that the caller can run and that have visible messages, the oldest
-- first, without those of `p_skip`.
CREATE OR REPLACE FUNCTION {schema}.expired_turns{v}(
    p_now BIGINT, p_from BYTEA[], p_to BYTEA[], p_code BYTEA[], p_skip TEXT[]
) RETURNS TABLE (o_instance TEXT, o_token UUID)
LANGUAGE plpgsql STABLE AS $body$
BEGIN
    RETURN QUERY
    SELECT l.instance_id, l.lock_token FROM {schema}.instance_locks l
    -- One without messages is a suspension.
    WHERE l.locked_until <= p_now AND cardinality(l.message_ids) > 0
        AND l.instance_id <> ALL (p_skip)
        AND EXISTS (
            SELECT 1 FROM {schema}.orchestrator_queue q
            WHERE q.instance_id = l.instance_id AND q.visible_at <= p_now AND NOT q.parked)
        AND {schema}.route_fits{v}(
            {schema}.turn_route{v}(l.instance_id), p_from, p_to, p_code)
    ORDER BY l.locked_until, l.instance_id;
END
$body$;
