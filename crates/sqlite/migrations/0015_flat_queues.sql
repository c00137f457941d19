-- A fetch touches only rows that are ready or whose lease ran out, however many wait or are parked.
ALTER TABLE orchestrator_queue ADD COLUMN parked INTEGER NOT NULL DEFAULT 0;

-- Older releases left the token on rows that were given back.
UPDATE orchestrator_queue SET lock_token = NULL WHERE lock_token IS NOT NULL;
UPDATE orchestrator_queue
SET visible_at = coalesce(CAST(strftime('%s', visible_at) AS INTEGER), 0) * 1000
WHERE typeof(visible_at) <> 'integer';
UPDATE orchestrator_queue
SET created_at = coalesce(CAST(strftime('%s', created_at) AS INTEGER), 0) * 1000
WHERE typeof(created_at) <> 'integer';
UPDATE worker_queue
SET locked_until = coalesce(CAST(strftime('%s', locked_until) AS INTEGER), 0) * 1000
WHERE lock_token IS NOT NULL AND typeof(locked_until) <> 'integer';
UPDATE worker_queue
SET created_at = coalesce(CAST(strftime('%s', created_at) AS INTEGER), 0) * 1000
WHERE typeof(created_at) <> 'integer';

DROP INDEX IF EXISTS idx_orch_visible;
DROP INDEX IF EXISTS idx_orch_instance;
DROP INDEX IF EXISTS idx_orch_lock;
CREATE INDEX idx_orch_ready ON orchestrator_queue (visible_at, id, instance_id)
    WHERE lock_token IS NULL AND parked = 0;
CREATE INDEX idx_orch_instance ON orchestrator_queue (instance_id, visible_at);
CREATE INDEX idx_orch_parked ON orchestrator_queue (instance_id) WHERE parked = 1;

CREATE INDEX idx_locks_token ON instance_locks (lock_token);
CREATE INDEX idx_locks_until ON instance_locks (locked_until);

DROP INDEX IF EXISTS idx_worker_available;
DROP INDEX IF EXISTS idx_worker_queue_tag;
DROP INDEX IF EXISTS idx_worker_queue_session;
CREATE INDEX idx_worker_ready ON worker_queue (tag, id, visible_at, session_id)
    WHERE lock_token IS NULL;
CREATE INDEX idx_worker_token ON worker_queue (lock_token) WHERE lock_token IS NOT NULL;
CREATE INDEX idx_worker_lease ON worker_queue (locked_until) WHERE lock_token IS NOT NULL;
CREATE INDEX idx_worker_delayed ON worker_queue (visible_at) WHERE visible_at > 0;
CREATE INDEX idx_worker_session ON worker_queue (session_id) WHERE session_id IS NOT NULL;

CREATE INDEX idx_sessions_worker ON sessions (worker_id);
CREATE INDEX idx_sessions_until ON sessions (locked_until);
