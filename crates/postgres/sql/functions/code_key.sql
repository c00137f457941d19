-- The key of code: its name and version, each followed by byte 1. `NeededCode` in the core.
CREATE OR REPLACE FUNCTION {schema}.code_key{v}(p_name TEXT, p_version TEXT) RETURNS BYTEA
LANGUAGE sql STABLE AS $body$
    SELECT convert_to(p_name || chr(1) || p_version || chr(1), 'UTF8')
$body$;
