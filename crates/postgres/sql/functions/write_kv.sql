-- Applies key-value changes in order: `k_op` sets a key, clears it (its value is null) or clears
-- all.
CREATE OR REPLACE FUNCTION {schema}.write_kv{v}(
    p_now BIGINT, p_live INTEGER[], t_instance TEXT[],
    k_turn INTEGER[], k_op SMALLINT[], k_key TEXT[], k_value TEXT[], k_at BIGINT[]
) RETURNS VOID
LANGUAGE plpgsql AS $body$
DECLARE
    v_row RECORD;
BEGIN
    FOR v_row IN
        SELECT t_instance[k.turn] AS instance_id, k.op, k.key, k.value, coalesce(k.at, p_now) AS at
        FROM unnest(k_turn, k_op, k_key, k_value, k_at) AS k (turn, op, key, value, at)
        WHERE k.turn = ANY (p_live)
    LOOP
        IF v_row.op <> {KV_CLEAR_ALL} THEN
            INSERT INTO {schema}.kv_delta AS d (instance_id, key, value, last_updated_at_ms)
            VALUES (v_row.instance_id, v_row.key, v_row.value, v_row.at)
            ON CONFLICT (instance_id, key) DO UPDATE
            SET value = excluded.value, last_updated_at_ms = excluded.last_updated_at_ms;
        ELSE
            UPDATE {schema}.kv_delta d SET value = NULL, last_updated_at_ms = p_now
            WHERE d.instance_id = v_row.instance_id;
            INSERT INTO {schema}.kv_delta (instance_id, key, value, last_updated_at_ms)
            SELECT s.instance_id, s.key, NULL, p_now FROM {schema}.kv_store s
            WHERE s.instance_id = v_row.instance_id
            ON CONFLICT (instance_id, key) DO NOTHING;
        END IF;
    END LOOP;
END
$body$;
