-- Leases of an activity whose holder was alive after the activity had run for a while. If such a
-- lease is lost, that is hardly the fault of the activity.
ALTER TABLE worker_queue ADD COLUMN vouched INTEGER NOT NULL DEFAULT 0;
