-- Leases the first turns of instances whose starts were just added, if the instances are new. Such
-- a turn holds nothing but its start: other messages belong to the next turn. The caller holds the
-- locks of the instances.
CREATE OR REPLACE FUNCTION {schema}.lease_first_turns{v}(
    p_now BIGINT, m_instance TEXT[], m_token UUID[], m_lock_for BIGINT[]
) RETURNS VOID
LANGUAGE plpgsql AS $body$
BEGIN
    INSERT INTO {schema}.instance_locks
        (instance_id, lock_token, locked_until, message_ids, locked_at)
    SELECT s.instance_id, s.token, p_now + s.lock_for, m.starts, p_now
    FROM unnest(m_instance, m_token, m_lock_for) AS s (instance_id, token, lock_for)
    CROSS JOIN LATERAL (
        SELECT array_agg(q.id) AS starts FROM {schema}.orchestrator_queue q
        WHERE q.instance_id = s.instance_id AND q.kind = {KIND_START}
    ) AS m
    WHERE s.token IS NOT NULL AND cardinality(m.starts) = 1
        AND (SELECT 1 FROM {schema}.instances i WHERE i.instance_id = s.instance_id) IS NULL
        AND (
            SELECT 1 FROM {schema}.history h WHERE h.instance_id = s.instance_id LIMIT 1) IS NULL
    ON CONFLICT DO NOTHING;
END
$body$;
