CREATE TABLE kv_delta (
    instance_id TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT,
    last_updated_at_ms INTEGER NOT NULL,
    PRIMARY KEY (instance_id, key)
);
DROP INDEX IF EXISTS idx_kv_store_execution;
ALTER TABLE kv_store DROP COLUMN execution_id;
