-- The row of a lease lies in its key and has one index. Its token names the instance, so that no
-- index of tokens has to be written with every turn.
CREATE TABLE instance_locks_rebuilt (
    instance_id TEXT NOT NULL PRIMARY KEY,
    lock_token TEXT NOT NULL,
    locked_until INTEGER NOT NULL,
    locked_at INTEGER NOT NULL,
    last_visible_at INTEGER NOT NULL DEFAULT 9223372036854775807,
    last_id INTEGER NOT NULL DEFAULT 9223372036854775807,
    -- A message besides those up to the last.
    start_id INTEGER,
    running INTEGER NOT NULL DEFAULT 0,
    has_start INTEGER NOT NULL DEFAULT 1
) WITHOUT ROWID;
INSERT INTO instance_locks_rebuilt
SELECT
    instance_id, lock_token, locked_until, locked_at, last_visible_at, last_id, start_id, running,
    has_start
FROM instance_locks
WHERE instance_id IS NOT NULL
ORDER BY instance_id;
DROP TABLE instance_locks;
ALTER TABLE instance_locks_rebuilt RENAME TO instance_locks;
CREATE INDEX idx_locks_until ON instance_locks (locked_until, instance_id);
