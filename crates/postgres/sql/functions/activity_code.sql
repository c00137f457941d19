-- The code of an activity from its message. Names are stored as the provider stores every text.
CREATE OR REPLACE FUNCTION {schema}.activity_code{v}(p_item TEXT) RETURNS TEXT
LANGUAGE plpgsql IMMUTABLE AS $body$
DECLARE
    v_name TEXT;
BEGIN
    -- Not above: the handler below does not cover declarations.
    v_name := p_item::JSON -> 'ActivityExecute' ->> 'name';
    IF octet_length(v_name) > 512 THEN
        RETURN '';
    END IF;
    RETURN coalesce('=' || replace(v_name, chr(57344), chr(57344) || '1'), '');
EXCEPTION WHEN OTHERS THEN
    RETURN '';
END
$body$;
