-- Three numbers cannot hold a pre-release; the text can. The numbers stay for older readers.
ALTER TABLE executions ADD COLUMN duroxide_version TEXT;
UPDATE executions
SET duroxide_version =
    duroxide_version_major || '.' || duroxide_version_minor || '.' || duroxide_version_patch
WHERE duroxide_version_major IS NOT NULL
    AND duroxide_version_minor IS NOT NULL
    AND duroxide_version_patch IS NOT NULL;
