-- A turn takes a bounded part of the waiting messages: the lease names where it ends, in the order of
-- visible_at and id. A start is found wherever it stands among them.
ALTER TABLE instance_locks ADD COLUMN last_visible_at INTEGER NOT NULL DEFAULT 9223372036854775807;
ALTER TABLE instance_locks ADD COLUMN last_id INTEGER NOT NULL DEFAULT 9223372036854775807;
ALTER TABLE instance_locks ADD COLUMN start_id INTEGER;

-- 1 continues an instance, 2 starts one, 0 is any other message.
ALTER TABLE orchestrator_queue ADD COLUMN start_rank INTEGER NOT NULL DEFAULT 0;
UPDATE orchestrator_queue SET start_rank = 1 WHERE work_item LIKE '{"ContinueAsNew"%';
UPDATE orchestrator_queue SET start_rank = 2 WHERE work_item LIKE '{"StartOrchestration"%';
CREATE INDEX idx_orch_start ON orchestrator_queue (instance_id, start_rank) WHERE start_rank > 0;
