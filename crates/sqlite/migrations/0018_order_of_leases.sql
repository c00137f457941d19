-- Leases that ran out at the same moment are taken in the order of their instances.
DROP INDEX idx_locks_until;
CREATE INDEX idx_locks_until ON instance_locks (locked_until, instance_id);
