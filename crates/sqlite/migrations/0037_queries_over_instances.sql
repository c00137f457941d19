-- Queries over instances: sorted by their age with ties by id, by the name of the orchestration, and
-- those that failed. The index by age takes the place of one that had no ids.
CREATE INDEX idx_instances_age ON instances (created_at, instance_id);
DROP INDEX idx_instances_created;
CREATE INDEX idx_instances_name ON instances (orchestration_name, created_at, instance_id);
CREATE INDEX idx_executions_failed ON executions (completed_at) WHERE status = 'Failed';
-- Search attributes are values under keys of this range.
CREATE INDEX idx_kv_store_attributes ON kv_store (key, value, instance_id)
    WHERE key >= '__duroxide_attribute:' AND key < '__duroxide_attribute;';
CREATE INDEX idx_kv_delta_attributes ON kv_delta (key, value, instance_id)
    WHERE key >= '__duroxide_attribute:' AND key < '__duroxide_attribute;';
