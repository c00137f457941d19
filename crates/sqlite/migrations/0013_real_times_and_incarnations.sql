-- Times become integer milliseconds, each instance gets a number that is never used again, and the
-- parent is no longer a foreign key: a child must be able to commit after its parent was deleted.
CREATE TABLE instances_rebuilt (
    instance_id TEXT PRIMARY KEY,
    orchestration_name TEXT NOT NULL,
    orchestration_version TEXT NOT NULL,
    current_execution_id INTEGER NOT NULL DEFAULT 1,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    parent_instance_id TEXT,
    custom_status TEXT,
    custom_status_version INTEGER NOT NULL DEFAULT 0,
    incarnation INTEGER NOT NULL CHECK (incarnation > 0)
);
INSERT INTO instances_rebuilt
SELECT
    instance_id,
    orchestration_name,
    coalesce(orchestration_version, 'unknown'),
    current_execution_id,
    CASE typeof(created_at)
        WHEN 'integer' THEN created_at
        ELSE coalesce(CAST(strftime('%s', created_at) AS INTEGER), 0) * 1000
    END,
    CASE typeof(updated_at)
        WHEN 'integer' THEN updated_at
        ELSE coalesce(CAST(strftime('%s', updated_at) AS INTEGER), 0) * 1000
    END,
    parent_instance_id,
    custom_status,
    custom_status_version,
    (random() & 0x7fffffffffffffff) | 1
FROM instances
ORDER BY rowid;
DROP TABLE instances;
ALTER TABLE instances_rebuilt RENAME TO instances;
CREATE INDEX idx_instances_parent ON instances (parent_instance_id)
    WHERE parent_instance_id IS NOT NULL;
CREATE INDEX idx_instances_created ON instances (created_at);

UPDATE executions
SET started_at = coalesce(CAST(strftime('%s', started_at) AS INTEGER), 0) * 1000
WHERE typeof(started_at) <> 'integer';
UPDATE executions
SET completed_at = CAST(strftime('%s', completed_at) AS INTEGER) * 1000
WHERE typeof(completed_at) = 'text';
