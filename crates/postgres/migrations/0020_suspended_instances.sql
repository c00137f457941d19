-- An instance that takes no turns until its code agrees with its history, or an operator resumes
-- it. A lease that no node holds keeps others off; this says why and since when.
ALTER TABLE {schema}.instances ADD COLUMN suspended_since BIGINT;
ALTER TABLE {schema}.instances ADD COLUMN suspended_by TEXT;
ALTER TABLE {schema}.instances ADD COLUMN suspended_reason TEXT;
CREATE INDEX idx_instances_suspended ON {schema}.instances (instance_id)
    WHERE suspended_since IS NOT NULL;
