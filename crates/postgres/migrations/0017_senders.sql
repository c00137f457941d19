-- The last transaction of each sender of messages that was committed. If the response to one is
-- lost, its sender is closed: the row shows whether it was committed, and it no longer can be.
CREATE TABLE {schema}.senders (
    sender_id UUID PRIMARY KEY,
    number BIGINT NOT NULL,
    is_closed BOOLEAN NOT NULL,
    -- Not indexed, so that an update writes no index.
    used_at BIGINT NOT NULL
) WITH (fillfactor = 50);
