-- Which turns a node runs, as JSON; null if it does not report them.
ALTER TABLE {schema}.workers ADD COLUMN turns TEXT;
