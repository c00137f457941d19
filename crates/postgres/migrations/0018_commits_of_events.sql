-- The commit that appended the events up to this one, with the last of them: a history in memory may
-- have as many events as the stored one, and others.
ALTER TABLE {schema}.history ADD COLUMN commit_id BIGINT;
