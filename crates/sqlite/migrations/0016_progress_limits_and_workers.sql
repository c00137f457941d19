-- What a running activity last said of itself.
ALTER TABLE worker_queue ADD COLUMN progress TEXT;
ALTER TABLE worker_queue ADD COLUMN progress_at INTEGER;
ALTER TABLE worker_queue ADD COLUMN progress_attempt INTEGER;

-- By when an activity must be started; NULL if it may wait for ever or has been started. While the
-- lease that may be its start lasts, `starting` is 1 and the time is kept: the lease may still be
-- given back unstarted.
ALTER TABLE worker_queue ADD COLUMN start_by INTEGER;
ALTER TABLE worker_queue ADD COLUMN starting INTEGER NOT NULL DEFAULT 0;
CREATE INDEX idx_worker_start_by ON worker_queue (start_by)
    WHERE start_by IS NOT NULL AND starting = 0;

-- Nodes that run activities, until they expire.
CREATE TABLE workers (
    node_id TEXT PRIMARY KEY,
    tag_filter TEXT NOT NULL,
    activities TEXT NOT NULL,
    expires_at INTEGER NOT NULL
);
