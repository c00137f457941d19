-- A turn takes a bounded part of the waiting messages; a start is found wherever it stands among them.
CREATE INDEX idx_orch_start ON {schema}.orchestrator_queue (instance_id, id) WHERE kind = 1;
