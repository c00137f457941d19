-- A worker claims only activities whose handler it has. The code of an activity is its name after
-- '=', or empty if any worker may claim it: its name cannot be read, or is very long. It is null until a fetch needs it: in rows from before
-- this step, and in those that a commit leased to its own node.
ALTER TABLE worker_queue ADD COLUMN code TEXT;
CREATE INDEX idx_worker_code ON worker_queue (tag, code, lane) WHERE locked_until IS NULL;
CREATE INDEX idx_worker_session_code ON worker_queue (session_id, tag, code)
    WHERE session_id IS NOT NULL AND locked_until IS NULL AND visible_at = 0;
