-- A worker reads only what it may claim. The lane of a ready activity says who may claim it:
-- 0 any worker that serves its tag; 1 such a worker if it runs sessions; 2 only the owner of its
-- session, which finds it by the session, or no worker before its delay is over.
-- An expired lease leaves its token on the row, and no time.
ALTER TABLE worker_queue ADD COLUMN lane INTEGER NOT NULL DEFAULT 0;
UPDATE worker_queue SET lane = 1 WHERE session_id IS NOT NULL;
UPDATE worker_queue SET lane = 2 WHERE visible_at > 0;
UPDATE worker_queue SET locked_until = NULL WHERE lock_token IS NULL AND locked_until IS NOT NULL;
DROP INDEX idx_worker_ready;
CREATE INDEX idx_worker_ready ON worker_queue (tag, lane, id) WHERE locked_until IS NULL;
DROP INDEX idx_worker_lease;
CREATE INDEX idx_worker_lease ON worker_queue (locked_until) WHERE locked_until IS NOT NULL;

-- Expired means that the activities of the session are in lanes that others read.
ALTER TABLE sessions ADD COLUMN expired INTEGER NOT NULL DEFAULT 0;
DROP INDEX idx_sessions_until;
CREATE INDEX idx_sessions_until ON sessions (expired, locked_until);
DROP INDEX idx_sessions_worker;
CREATE INDEX idx_sessions_worker ON sessions (worker_id, locked_until);
