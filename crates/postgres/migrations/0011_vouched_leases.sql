-- Leases of an activity whose holder was alive after the activity had run for a while. If such a
-- lease is lost, that is hardly the fault of the activity.
ALTER TABLE {schema}.worker_queue ADD COLUMN IF NOT EXISTS vouched INTEGER NOT NULL DEFAULT 0;
