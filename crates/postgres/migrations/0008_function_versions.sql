-- The installed versions of the functions under `sql/functions`. Nodes of different builds call
-- different versions side by side.
CREATE TABLE {schema}.duroxide_functions (
    version TEXT PRIMARY KEY,
    -- The release that installed it first.
    release TEXT NOT NULL,
    applied_at TIMESTAMPTZ NOT NULL DEFAULT now()
);

-- All versions share the following two functions, so that they never change.

-- The server's clock in milliseconds since 1970. Leases and visibility depend on no other clock.
CREATE OR REPLACE FUNCTION {schema}.now_ms() RETURNS BIGINT
LANGUAGE sql VOLATILE PARALLEL SAFE AS $body$
    SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::BIGINT
$body$;

-- The key of an instance's advisory lock. A transaction that leases, starts or deletes an instance
-- holds this lock until it ends.
CREATE OR REPLACE FUNCTION {schema}.instance_key(p_instance TEXT) RETURNS BIGINT
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $body$
    SELECT hashtextextended(p_instance, {seed})
$body$;
