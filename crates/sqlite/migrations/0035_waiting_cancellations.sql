-- A cancellation is found among any number of messages, so that it ends an instance that no node can
-- run: its rank is -1. Other messages are not in the index.
UPDATE orchestrator_queue SET start_rank = -1
WHERE start_rank = 0 AND substr(work_item, 1, 17) = '{"CancelInstance"';
CREATE INDEX idx_orch_cancel ON orchestrator_queue (instance_id) WHERE start_rank < 0;
