-- Whether a node may lease what has this route: it has the code, `p_code`, and replays the pin. The
-- keys are sorted; null means all.
CREATE OR REPLACE FUNCTION {schema}.route_fits{v}(
    p_route BYTEA, p_from BYTEA[], p_to BYTEA[], p_code BYTEA[]
) RETURNS BOOLEAN
LANGUAGE plpgsql IMMUTABLE AS $body$
DECLARE
    v_key BYTEA;
    v_pin BYTEA;
BEGIN
    IF p_code IS NOT NULL THEN
        v_key := p_code[width_bucket(p_route, p_code)];
        IF v_key IS NULL OR substring(p_route FROM 1 FOR length(v_key)) <> v_key THEN
            RETURN FALSE;
        END IF;
        v_pin := substring(p_route FROM length(v_key) + 1);
    ELSIF p_from IS NOT NULL THEN
        v_pin := substring(p_route FROM position('\x01' IN p_route) + 1);
        v_pin := substring(v_pin FROM position('\x01' IN v_pin) + 1);
    END IF;
    RETURN p_from IS NULL OR v_pin = '\x' OR EXISTS (
        SELECT 1 FROM unnest(p_from, p_to) AS r (from_key, to_key)
        WHERE v_pin BETWEEN r.from_key AND r.to_key);
END
$body$;
