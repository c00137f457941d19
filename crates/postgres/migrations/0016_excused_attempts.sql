-- A lease says whether the code of its turn runs. If it expires while it does not, the attempt says
-- nothing about the messages and is excused.
ALTER TABLE {schema}.instance_locks
    ADD COLUMN IF NOT EXISTS running BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE {schema}.orchestrator_queue
    ADD COLUMN IF NOT EXISTS excused INTEGER NOT NULL DEFAULT 0;
