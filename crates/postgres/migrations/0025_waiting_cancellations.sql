-- A cancellation is found among any number of messages, so that it ends an instance that no node can
-- run. Other messages are not in the index. By text, because nodes of the previous release enqueue
-- cancellations too.
CREATE INDEX IF NOT EXISTS idx_orch_cancel ON {schema}.orchestrator_queue (instance_id, id)
    WHERE left(work_item, 17) LIKE '_"CancelInstance"';
