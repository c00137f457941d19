-- A fetch reads only what it may lease. The index of ready messages sorts them by the pin of their
-- instance. Empty bytes mean that the pin was not known when the message arrived: the first fetch
-- that may not lease it stores the pin. Null means that the message stands behind an earlier one of
-- an instance with many: the commit that consumes that one lists the next.
ALTER TABLE {schema}.orchestrator_queue ADD COLUMN IF NOT EXISTS pin BYTEA DEFAULT '\x';
DROP INDEX IF EXISTS {schema}.idx_orch_ready;
CREATE INDEX idx_orch_ready ON {schema}.orchestrator_queue (pin, visible_at, id)
    WHERE NOT parked AND pin IS NOT NULL;

-- Instances whose pin has changed. A message that was enqueued meanwhile may carry the old pin,
-- until every transaction of that time has ended: those before `seen`.
CREATE TABLE IF NOT EXISTS {schema}.repinned (
    instance_id TEXT COLLATE "C" NOT NULL,
    seen XID8
);
