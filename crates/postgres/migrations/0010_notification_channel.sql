-- The channel on which nodes notify each other. Any role of the database may listen on any channel
-- whose name it knows; this name is known only to roles that may read this table.
CREATE TABLE {schema}.notification_channel (
    name TEXT NOT NULL,
    single BOOLEAN PRIMARY KEY DEFAULT TRUE CHECK (single)
);
INSERT INTO {schema}.notification_channel (name)
VALUES ('duroxide_' || replace(gen_random_uuid()::TEXT, '-', ''));
