-- Queries over instances: sorted by their age with ties by id, by the name of the orchestration, and
-- those that failed. The index by age takes the place of one that had no ids. An index holds some
-- 2,700 bytes in a row, so that only the first part of a name is in it.
CREATE INDEX idx_instances_age ON {schema}.instances (created_at, instance_id);
DROP INDEX {schema}.idx_instances_created;
CREATE INDEX idx_instances_name ON {schema}.instances
    ((left(orchestration_name, 64)) COLLATE "C", created_at, instance_id);
CREATE INDEX idx_executions_failed ON {schema}.executions (completed_at) WHERE status = 'Failed';
-- Search attributes are short values under keys of this range.
CREATE INDEX idx_kv_store_attributes ON {schema}.kv_store (key, value COLLATE "C", instance_id)
    WHERE key >= '__duroxide_attribute:' AND key < '__duroxide_attribute;'
        AND octet_length(value) <= 512;
CREATE INDEX idx_kv_delta_attributes ON {schema}.kv_delta (key, value COLLATE "C", instance_id)
    WHERE key >= '__duroxide_attribute:' AND key < '__duroxide_attribute;'
        AND octet_length(value) <= 512;
