-- A worker reads only what it may claim. The lane of a ready activity says who may claim it:
-- 0 any worker that serves its route; 1 such a worker if it runs sessions; 2 only the owner of its
-- session, which finds it by the session, or no worker before its delay is over.
ALTER TABLE {schema}.worker_queue ADD COLUMN IF NOT EXISTS lane SMALLINT NOT NULL DEFAULT 0;
SET LOCAL enable_seqscan = off;
UPDATE {schema}.worker_queue SET lane = 1 WHERE session_id IS NOT NULL;
UPDATE {schema}.worker_queue SET lane = 2 WHERE visible_at > 0;
SET LOCAL enable_seqscan TO DEFAULT;
DROP INDEX IF EXISTS {schema}.idx_worker_ready;
CREATE INDEX idx_worker_ready ON {schema}.worker_queue (route, lane, id)
    WHERE locked_until IS NULL;
DROP INDEX IF EXISTS {schema}.idx_worker_session;
CREATE INDEX idx_worker_session ON {schema}.worker_queue (session_id, id)
    WHERE session_id IS NOT NULL;

-- Expired means that the activities of the session are in lanes that others read.
ALTER TABLE {schema}.sessions ADD COLUMN IF NOT EXISTS expired BOOLEAN NOT NULL DEFAULT FALSE;
DROP INDEX IF EXISTS {schema}.idx_sessions_until;
CREATE INDEX idx_sessions_until ON {schema}.sessions (locked_until) WHERE NOT expired;
