-- A time later than this was stored before the server's clock was set back. A statement also sees
-- what was stored after it has read the clock: only times beyond a margin are in the future.
CREATE OR REPLACE FUNCTION {schema}.future{v}(p_now BIGINT) RETURNS BIGINT
LANGUAGE plpgsql STABLE AS $body$
DECLARE
    c_margin CONSTANT BIGINT := 1000;
BEGIN
    RETURN coalesce(p_now, {schema}.now_ms()) + c_margin;
END
$body$;
