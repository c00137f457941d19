-- Deletes instances for all callers: removes what makes them exist, and lists the rest for removal.
-- Returns how many there were. All of them exist, and the caller holds their locks.
CREATE OR REPLACE FUNCTION {schema}.hide_instances{v}(
    p_now BIGINT, p_ids TEXT[], p_deletion UUID, p_window BIGINT,
    OUT o_instances BIGINT
)
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off
AS $body$
DECLARE
    c_for_ever CONSTANT BIGINT := 9223372036854775807;
    -- How many events are searched for starts of children while the locks are held.
    c_events CONSTANT BIGINT := 1000;
BEGIN
    DELETE FROM {schema}.instances i WHERE i.instance_id = ANY (p_ids);
    GET DIAGNOSTICS o_instances = ROW_COUNT;
    -- One that was hidden before is continued by this call.
    INSERT INTO {schema}.deletions
        (instance_id, execution_id, deletion, last_message, ids_until, has_starts, touched_at)
    SELECT g.instance_id, 0, p_deletion, coalesce((
            SELECT q.id FROM {schema}.orchestrator_queue q
            WHERE q.instance_id = g.instance_id ORDER BY q.id DESC LIMIT 1), 0),
        p_now + p_window, coalesce((
            -- What removes a longer history looks at the rest of it.
            SELECT count(*) = c_events OR bool_or(f.event_type = 'SubOrchestrationScheduled')
            FROM (
                SELECT h.event_type FROM {schema}.history h
                WHERE h.instance_id = g.instance_id LIMIT c_events) AS f), FALSE),
        clock_timestamp()
    FROM (SELECT DISTINCT u.id FROM unnest(p_ids) AS u (id)) AS g (instance_id)
    ON CONFLICT (instance_id, execution_id) DO UPDATE SET deletion = p_deletion;
    -- Without its lease a turn in flight cannot recreate the instance.
    INSERT INTO {schema}.instance_locks (instance_id, lock_token, locked_until, message_ids)
    SELECT g.instance_id, p_deletion, c_for_ever, '{}'::BIGINT[]
    FROM (SELECT DISTINCT u.id FROM unnest(p_ids) AS u (id)) AS g (instance_id)
    ON CONFLICT (instance_id) DO UPDATE
    SET lock_token = p_deletion, locked_until = c_for_ever, message_ids = '{}', running = FALSE;
END
$body$;
