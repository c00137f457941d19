-- The key of the advisory lock that a fetch holds while it sets messages of an instance aside. Many
-- instances share one of 256 keys.
CREATE OR REPLACE FUNCTION {schema}.parking_key{v}(p_instance TEXT) RETURNS BIGINT
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $body$
    SELECT {schema}.instance_key('parking ' || ({schema}.instance_key(p_instance) & 255))
$body$;
