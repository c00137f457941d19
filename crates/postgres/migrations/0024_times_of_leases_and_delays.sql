-- When the time of a lease or a delay was set. If that is in the future, the clock was set back, and
-- the lease or the delay lasts for its own length from now on. Null if a node of an earlier release
-- has set it.
ALTER TABLE {schema}.instance_locks ADD COLUMN locked_at BIGINT;
ALTER TABLE {schema}.worker_queue ADD COLUMN timed_at BIGINT;
ALTER TABLE {schema}.orchestrator_queue ADD COLUMN timed_at BIGINT;
ALTER TABLE {schema}.sessions ADD COLUMN timed_at BIGINT;
ALTER TABLE {schema}.workers ADD COLUMN timed_at BIGINT;
