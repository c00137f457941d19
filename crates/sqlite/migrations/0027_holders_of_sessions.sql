-- The provider that claimed or renewed the session last: when its process has died, the session is
-- for others at once.
ALTER TABLE sessions ADD COLUMN held_by TEXT;
