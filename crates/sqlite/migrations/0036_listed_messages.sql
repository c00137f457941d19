-- When the route of an instance changes, what is listed of it moves. That is its first message, and
-- some that become visible later and were the first until an earlier one came: these are found by an
-- index of their own. A message that is visible at once and stands behind others is not listed.
UPDATE orchestrator_queue
SET route = NULL
WHERE route IS NOT NULL AND visible_at <= created_at AND EXISTS (
    SELECT 1 FROM orchestrator_queue q
    WHERE q.instance_id = orchestrator_queue.instance_id AND q.parked = 0
        AND q.visible_at <= orchestrator_queue.visible_at
        AND (q.visible_at < orchestrator_queue.visible_at OR q.id < orchestrator_queue.id));
CREATE INDEX idx_orch_later ON orchestrator_queue (instance_id)
    WHERE route IS NOT NULL AND visible_at > created_at;
