-- A worker claims only activities whose handler it has. The code of an activity is its name after
-- '=', or empty if any worker may claim it: its name cannot be read, or is very long. It is null
-- until a fetch needs it: in rows from before this step or of nodes of earlier releases, and in
-- those that a commit leased to its own node.
ALTER TABLE {schema}.worker_queue ADD COLUMN IF NOT EXISTS code TEXT COLLATE "C";
CREATE INDEX IF NOT EXISTS idx_worker_code
    ON {schema}.worker_queue (route, code NULLS FIRST, lane, id) WHERE locked_until IS NULL;
-- By a number, because the names of sessions are as long as an index takes.
CREATE INDEX IF NOT EXISTS idx_worker_session_code
    ON {schema}.worker_queue (session_id, hashtextextended(code, 0), id)
    WHERE session_id IS NOT NULL AND locked_until IS NULL;
