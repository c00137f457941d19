-- A node is given only turns whose code it has. The pin of a ready message becomes its route: the
-- key of the code that the next turn needs, and then the pin. A key is a name and a version, each
-- followed by byte 1. Empty bytes still mean "not known yet": the first fetch that may not lease
-- the message stores its route. A start keeps the key of what it requests; one that waits since
-- before this step has none, and every node may fetch it.
ALTER TABLE {schema}.orchestrator_queue ADD COLUMN IF NOT EXISTS code BYTEA;
SET LOCAL enable_seqscan = off;
UPDATE {schema}.orchestrator_queue SET pin = '\x' WHERE NOT parked AND pin > '\x';
SET LOCAL enable_seqscan = on;

-- The key of the code that the execution runs, to find out whether the next one runs another.
ALTER TABLE {schema}.executions ADD COLUMN IF NOT EXISTS code BYTEA;
