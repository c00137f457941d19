-- When the time of a lease or a delay was set. If that is in the future, the clock was set back, and
-- the lease or the delay lasts for its own length from now on.
ALTER TABLE worker_queue ADD COLUMN timed_at INTEGER;
ALTER TABLE orchestrator_queue ADD COLUMN timed_at INTEGER;
ALTER TABLE sessions ADD COLUMN timed_at INTEGER;
ALTER TABLE workers ADD COLUMN timed_at INTEGER;
