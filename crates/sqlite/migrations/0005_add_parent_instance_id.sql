ALTER TABLE instances ADD COLUMN parent_instance_id TEXT REFERENCES instances (instance_id);
CREATE INDEX idx_instances_parent ON instances (parent_instance_id);
