-- The last transaction of each sender of messages that was committed. If the response to one is
-- lost, its sender is closed: the row shows whether it was committed, and it no longer can be.
CREATE TABLE {schema}.senders (
    sender_id UUID PRIMARY KEY,
    number BIGINT NOT NULL,
    is_closed BOOLEAN NOT NULL,
    -- Never changed, so that an update of the number writes no index.
    created_at BIGINT NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX idx_senders_created ON {schema}.senders (created_at);
