-- Where the next route of a node may begin: behind a route that it may read, or at the next code
-- that it has. Null if there is none.
CREATE OR REPLACE FUNCTION {schema}.route_behind{v}(p_route BYTEA, p_code BYTEA[]) RETURNS BYTEA
LANGUAGE plpgsql IMMUTABLE AS $body$
DECLARE
    v_place INTEGER := width_bucket(p_route, p_code);
BEGIN
    -- Routes that are not known come before all keys.
    IF v_place IS NULL OR v_place = 0
        OR substring(p_route FROM 1 FOR length(p_code[v_place])) = p_code[v_place]
    THEN
        RETURN p_route || '\x00';
    END IF;
    RETURN p_code[v_place + 1];
END
$body$;
