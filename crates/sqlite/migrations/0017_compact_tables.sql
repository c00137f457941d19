-- Fewer pages for each step: rows of executions lie in their key, numbers of queue rows are taken from
-- the table itself, and a lease on an activity is found by the row's number. (History stays as it is:
-- rows in their key would spread the events of many instances over as many pages.)
CREATE TABLE executions_rebuilt (
    instance_id TEXT NOT NULL,
    execution_id INTEGER NOT NULL,
    status TEXT NOT NULL DEFAULT 'Running',
    output TEXT,
    started_at INTEGER,
    completed_at INTEGER,
    duroxide_version_major INTEGER,
    duroxide_version_minor INTEGER,
    duroxide_version_patch INTEGER,
    duroxide_version TEXT,
    PRIMARY KEY (instance_id, execution_id)
) WITHOUT ROWID;
INSERT INTO executions_rebuilt
SELECT
    instance_id, execution_id, status, output, started_at, completed_at,
    duroxide_version_major, duroxide_version_minor, duroxide_version_patch, duroxide_version
FROM executions
ORDER BY instance_id, execution_id;
DROP TABLE executions;
ALTER TABLE executions_rebuilt RENAME TO executions;

-- A new row still gets a higher number than every row that is there, which is all that order needs.
CREATE TABLE orchestrator_queue_rebuilt (
    id INTEGER PRIMARY KEY,
    instance_id TEXT NOT NULL,
    work_item TEXT NOT NULL,
    visible_at INTEGER NOT NULL DEFAULT 0,
    lock_token TEXT,
    created_at INTEGER NOT NULL DEFAULT 0,
    attempt_count INTEGER NOT NULL DEFAULT 0 CHECK (attempt_count >= 0),
    parked INTEGER NOT NULL DEFAULT 0
);
INSERT INTO orchestrator_queue_rebuilt
SELECT
    id, instance_id, work_item, coalesce(visible_at, 0), lock_token, coalesce(created_at, 0),
    attempt_count, parked
FROM orchestrator_queue
ORDER BY id;
DROP TABLE orchestrator_queue;
ALTER TABLE orchestrator_queue_rebuilt RENAME TO orchestrator_queue;
CREATE INDEX idx_orch_ready ON orchestrator_queue (visible_at, id, instance_id)
    WHERE lock_token IS NULL AND parked = 0;
CREATE INDEX idx_orch_instance ON orchestrator_queue (instance_id, visible_at);
CREATE INDEX idx_orch_parked ON orchestrator_queue (instance_id) WHERE parked = 1;

CREATE TABLE worker_queue_rebuilt (
    id INTEGER PRIMARY KEY,
    work_item TEXT NOT NULL,
    lock_token TEXT,
    locked_until INTEGER,
    created_at INTEGER NOT NULL DEFAULT 0,
    attempt_count INTEGER NOT NULL DEFAULT 0 CHECK (attempt_count >= 0),
    visible_at INTEGER NOT NULL DEFAULT 0,
    instance_id TEXT,
    execution_id INTEGER,
    activity_id INTEGER,
    session_id TEXT,
    tag TEXT,
    progress TEXT,
    progress_at INTEGER,
    progress_attempt INTEGER,
    start_by INTEGER,
    starting INTEGER NOT NULL DEFAULT 0
);
INSERT INTO worker_queue_rebuilt
SELECT
    id, work_item, lock_token, locked_until, coalesce(created_at, 0), attempt_count, visible_at,
    instance_id, execution_id, activity_id, session_id, tag, progress, progress_at,
    progress_attempt, start_by, starting
FROM worker_queue
ORDER BY id;
DROP TABLE worker_queue;
ALTER TABLE worker_queue_rebuilt RENAME TO worker_queue;
CREATE INDEX idx_worker_activity ON worker_queue (instance_id, execution_id, activity_id);
CREATE INDEX idx_worker_ready ON worker_queue (tag, id, visible_at, session_id)
    WHERE lock_token IS NULL;
CREATE INDEX idx_worker_lease ON worker_queue (locked_until) WHERE lock_token IS NOT NULL;
CREATE INDEX idx_worker_delayed ON worker_queue (visible_at) WHERE visible_at > 0;
CREATE INDEX idx_worker_session ON worker_queue (session_id) WHERE session_id IS NOT NULL;
CREATE INDEX idx_worker_start_by ON worker_queue (start_by)
    WHERE start_by IS NOT NULL AND starting = 0;
