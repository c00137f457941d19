-- The result of each turn of a commit. `last_turn` of the instance shows that an earlier attempt of
-- the same commit succeeded.
CREATE OR REPLACE FUNCTION {schema}.turn_results{v}(
    t_instance TEXT[], t_token UUID[], t_again BOOLEAN[], t_first BOOLEAN[], d_event BIGINT[],
    p_live INTEGER[]
) RETURNS TABLE (o_turn INTEGER, o_code INTEGER, o_known BOOLEAN, o_incarnation BIGINT)
LANGUAGE plpgsql AS $body$
BEGIN
    RETURN QUERY
    SELECT t.turn::INTEGER,
        CASE
            WHEN t.turn = ANY (p_live) OR before.incarnation IS NOT NULL
                THEN {COMMITTED}
            WHEN t.held_event IS NOT NULL THEN {NOT_CURRENT}
            WHEN t.first THEN {NOT_FIRST}
            WHEN (
                SELECT 1 FROM {schema}.instance_locks l
                WHERE l.instance_id = t.instance_id AND l.lock_token = t.token) = 1
                THEN {LEASE_EXPIRED}
            ELSE {UNKNOWN_TOKEN}
        END,
        NOT t.turn = ANY (p_live) AND before.incarnation IS NOT NULL,
        before.incarnation
    FROM unnest(t_instance, t_token, t_again, t_first, d_event) WITH ORDINALITY
        AS t (instance_id, token, again, first, held_event, turn)
    LEFT JOIN LATERAL (
        SELECT i.incarnation FROM {schema}.instances i
        WHERE t.again AND i.instance_id = t.instance_id AND i.last_turn = t.token
    ) AS before ON TRUE;
END
$body$;
