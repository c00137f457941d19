-- Only a deletion looks for the children that a history names, and it reads that history anyway. An
-- index with a condition costs every commit that writes events.
DROP INDEX idx_history_children;
