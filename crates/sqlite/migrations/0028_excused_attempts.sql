-- A lease says whether the code of its turn runs. If it expires while it does not, the attempt says
-- nothing about the messages and is excused.
ALTER TABLE instance_locks ADD COLUMN running INTEGER NOT NULL DEFAULT 0;
ALTER TABLE orchestrator_queue ADD COLUMN excused INTEGER NOT NULL DEFAULT 0;
