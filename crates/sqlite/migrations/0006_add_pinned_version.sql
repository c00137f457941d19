ALTER TABLE executions ADD COLUMN duroxide_version_major INTEGER;
ALTER TABLE executions ADD COLUMN duroxide_version_minor INTEGER;
ALTER TABLE executions ADD COLUMN duroxide_version_patch INTEGER;
