-- Moves the key-value writes of executions that ended to what the next executions read.
CREATE OR REPLACE FUNCTION {schema}.merge_kv{v}(
    p_live INTEGER[], t_instance TEXT[], t_ends BOOLEAN[]
) RETURNS VOID
LANGUAGE plpgsql AS $body$
DECLARE
    v_instances TEXT[];
BEGIN
    SELECT array_agg(DISTINCT d.instance_id) INTO v_instances
    FROM unnest(t_instance, t_ends) WITH ORDINALITY AS t (instance_id, ends, turn)
    JOIN {schema}.kv_delta d ON d.instance_id = t.instance_id
    WHERE t.ends AND t.turn = ANY (p_live);
    IF v_instances IS NULL THEN
        RETURN;
    END IF;
    INSERT INTO {schema}.kv_store (instance_id, key, value, last_updated_at_ms)
    SELECT d.instance_id, d.key, d.value, d.last_updated_at_ms FROM {schema}.kv_delta d
    WHERE d.instance_id = ANY (v_instances) AND d.value IS NOT NULL
    ON CONFLICT (instance_id, key) DO UPDATE
    SET value = excluded.value, last_updated_at_ms = excluded.last_updated_at_ms;
    DELETE FROM {schema}.kv_store s USING {schema}.kv_delta d
    WHERE s.instance_id = ANY (v_instances) AND d.instance_id = s.instance_id
        AND d.key = s.key AND d.value IS NULL;
    DELETE FROM {schema}.kv_delta d WHERE d.instance_id = ANY (v_instances);
END
$body$;
