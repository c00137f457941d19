-- Which code that a worker has, `p_code`, is ready under which of its routes. The code is sorted. One
-- probe of the index for each that the worker has, at most; past that of other workers in one step.
-- `o_wait` is after how many milliseconds to go on if the code of some is not known yet.
CREATE OR REPLACE FUNCTION {schema}.ready_code{v}(
    p_routes TEXT[], p_code TEXT[],
    OUT o_routes TEXT[], OUT o_code TEXT[], OUT o_wait INTEGER
)
LANGUAGE plpgsql AS $body$
DECLARE
    v_route TEXT;
    v_code TEXT;
    v_place INTEGER;
BEGIN
    o_routes := '{}';
    o_code := '{}';
    FOREACH v_route IN ARRAY p_routes LOOP
        -- Code that is not known comes first. The order makes the server read the index of code.
        SELECT q.code INTO v_code FROM {schema}.worker_queue q
        WHERE q.locked_until IS NULL AND q.route = v_route
        ORDER BY q.route, q.code NULLS FIRST LIMIT 1;
        CONTINUE WHEN NOT FOUND;
        IF v_code IS NULL THEN
            o_wait := least(o_wait, {schema}.settle_code{v}(v_route));
        END IF;
        v_place := 0;
        WHILE v_place < cardinality(p_code) LOOP
            IF v_place > 0 OR v_code IS NULL OR v_code < p_code[1] COLLATE "C" THEN
                SELECT q.code INTO v_code FROM {schema}.worker_queue q
                WHERE q.locked_until IS NULL AND q.route = v_route
                    AND q.code >= p_code[v_place + 1]
                ORDER BY q.code NULLS FIRST LIMIT 1;
                EXIT WHEN NOT FOUND;
            END IF;
            v_place := width_bucket(v_code COLLATE "C", p_code);
            IF p_code[v_place] = v_code THEN
                o_routes := o_routes || v_route;
                o_code := o_code || v_code;
            END IF;
        END LOOP;
    END LOOP;
END
$body$;
