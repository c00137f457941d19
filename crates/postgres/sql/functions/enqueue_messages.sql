-- Adds messages for clients. A start whose first turn a dispatcher already runs carries the token
-- and the length of that turn's lease. The sender recognises the transaction if its response is
-- lost.
CREATE OR REPLACE FUNCTION {schema}.enqueue_messages{v}(
    p_now BIGINT, m_instance TEXT[], m_item TEXT[], m_delay BIGINT[], m_kind SMALLINT[],
    m_code BYTEA[], m_token UUID[], m_lock_for BIGINT[], p_sender UUID, p_number BIGINT,
    OUT o_now BIGINT
)
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off
AS $body$
DECLARE
    v_now BIGINT := coalesce(p_now, {schema}.now_ms());
    v_visible_at BIGINT[] := m_delay;
BEGIN
    PERFORM {schema}.record_sending{v}(v_now, p_sender, p_number);
    IF 0 = ALL (m_delay) THEN
        v_visible_at := array_fill(v_now, ARRAY[cardinality(m_delay)]);
    ELSE
        SELECT array_agg(v_now + d.delay ORDER BY d.place) INTO v_visible_at
        FROM unnest(m_delay) WITH ORDINALITY AS d (delay, place);
    END IF;
    PERFORM {schema}.insert_messages{v}(
        v_now, m_instance, m_item, v_visible_at, m_kind, m_code);
    IF array_position(m_lock_for, NULL) IS NULL OR 0 <= ANY (m_lock_for) THEN
        PERFORM {schema}.lease_first_turns{v}(v_now, m_instance, m_token, m_lock_for);
    END IF;
    o_now := v_now;
END
$body$;
