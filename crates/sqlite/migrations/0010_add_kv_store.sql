CREATE TABLE kv_store (
    instance_id TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    execution_id INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (instance_id, key)
);
CREATE INDEX idx_kv_store_execution ON kv_store (instance_id, execution_id);
