-- What a deletion has hidden and still has to remove, slice by slice. An id in this list is not started
-- again before its old rows are gone.
CREATE TABLE deletions (
    id INTEGER PRIMARY KEY,
    instance_id TEXT NOT NULL,
    -- Null for the whole instance.
    execution_id INTEGER,
    -- Later messages are for a new instance of that id.
    last_message INTEGER NOT NULL
);
CREATE INDEX idx_deletions_instance ON deletions (instance_id, execution_id);
