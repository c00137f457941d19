-- The parked messages of one instance are found by its id, whatever the statistics say: they were
-- searched among all that are parked. The list of all of them keeps an index of its own, which only
-- a statement that asks for positive numbers can use.
CREATE INDEX idx_orch_parked_of ON {schema}.orchestrator_queue (instance_id, id) WHERE parked;
CREATE INDEX idx_orch_parked_list ON {schema}.orchestrator_queue (id) WHERE parked AND id > 0;
DROP INDEX {schema}.idx_orch_parked;
