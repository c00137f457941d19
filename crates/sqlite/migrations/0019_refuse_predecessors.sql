-- duroxide 0.1.x creates an index of this name when it opens a file, which fails while there is a view of
-- that name. It would otherwise open the file and lose work silently.
CREATE VIEW idx_orch_lock AS
SELECT 'duroxide 0.2 has migrated this database; duroxide 0.1.x cannot use it' AS reason;
