-- Deleted instances, and pruned executions, whose rows are not all removed yet. For callers they do
-- not exist. A lease that no node holds, with `deletion` as its token, keeps another instance of
-- the same id from running until the rows are gone.
CREATE TABLE {schema}.deletions (
    number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    instance_id TEXT COLLATE "C" NOT NULL,
    -- 0 is all of the instance.
    execution_id BIGINT NOT NULL,
    -- The call that deleted it.
    deletion UUID NOT NULL,
    -- Later messages are for an instance that is started later, and so are message ids that expire
    -- later.
    last_message BIGINT NOT NULL,
    ids_until BIGINT NOT NULL,
    -- Starts of its children may still be queued. Its history names them.
    has_starts BOOLEAN NOT NULL,
    -- When the removal went on last.
    touched_at TIMESTAMPTZ NOT NULL,
    UNIQUE (instance_id, execution_id)
) WITH (fillfactor = 70);
CREATE INDEX idx_deletions_call ON {schema}.deletions (deletion, number);
