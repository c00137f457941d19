-- Ids of messages that clients sent, so that a repeated one has no second effect, until they expire.
CREATE TABLE message_ids (
    instance_id TEXT NOT NULL,
    message_id TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (instance_id, message_id)
) WITHOUT ROWID;
CREATE INDEX idx_message_ids_expiry ON message_ids (expires_at);

-- The children of an instance are found without its other events.
CREATE INDEX idx_history_children ON history (instance_id)
    WHERE event_type = 'SubOrchestrationScheduled';
