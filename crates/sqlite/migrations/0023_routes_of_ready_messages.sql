-- A fetch reads only what it may lease. The index of ready messages lists one message of each
-- instance that no dispatcher has leased, under its route: the pin of the current execution, or
-- nothing. Messages that are parked, leased, or behind the listed one have no route.
ALTER TABLE orchestrator_queue ADD COLUMN route TEXT DEFAULT '';
UPDATE orchestrator_queue
SET route = CASE WHEN lock_token IS NULL AND parked = 0 THEN coalesce((
    SELECT iif(typeof(e.duroxide_version) = 'text', e.duroxide_version, '')
    FROM instances i
    JOIN executions e
        ON e.instance_id = i.instance_id AND e.execution_id = i.current_execution_id
    WHERE i.instance_id = orchestrator_queue.instance_id), '') END;

DROP INDEX idx_orch_ready;
CREATE INDEX idx_orch_ready ON orchestrator_queue (route, visible_at, id, instance_id)
    WHERE route IS NOT NULL;

-- Parked messages are not between those that a turn reads.
DROP INDEX idx_orch_instance;
CREATE INDEX idx_orch_instance ON orchestrator_queue (instance_id, parked, visible_at);
DROP INDEX idx_orch_parked;
CREATE INDEX idx_orch_parked ON orchestrator_queue (id) WHERE parked = 1;
