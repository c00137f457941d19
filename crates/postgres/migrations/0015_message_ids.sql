-- Ids of messages that clients sent, so that a repeated one has no second effect, until they expire.
CREATE TABLE {schema}.message_ids (
    instance_id TEXT COLLATE "C" NOT NULL,
    message_id TEXT COLLATE "C" NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (instance_id, message_id)
);
CREATE INDEX idx_message_ids_expiry ON {schema}.message_ids (expires_at);

-- The children of an instance are found without its other events.
CREATE INDEX idx_history_children ON {schema}.history (instance_id)
    WHERE event_type = 'SubOrchestrationScheduled';
