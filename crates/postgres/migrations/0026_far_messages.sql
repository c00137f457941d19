-- Of an instance with many messages only the first are listed, and a few far behind them. When the
-- code changes that the instance needs, all of them leave their routes: the first are found by their
-- numbers, the others by an index of their own. A message of which this is not known counts as far.
ALTER TABLE {schema}.orchestrator_queue ADD COLUMN far BOOLEAN NOT NULL DEFAULT TRUE;
CREATE INDEX idx_orch_far ON {schema}.orchestrator_queue (instance_id, id)
    WHERE far AND pin > '\x00';
