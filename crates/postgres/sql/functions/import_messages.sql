-- Adds messages of an instance that the same transaction imports, in order. `p_before` is how many
-- it has added before: as in `message_pin`, only the first are listed, and what becomes visible
-- later. A fetch finds out their route.
CREATE OR REPLACE FUNCTION {schema}.import_messages{v}(
    p_now BIGINT, p_instance TEXT, p_before BIGINT, m_item TEXT[], m_kind SMALLINT[],
    m_code BYTEA[], m_queued_at BIGINT[], m_visible_at BIGINT[], m_is_timer BOOLEAN[],
    m_attempts INTEGER[], m_excused INTEGER[], m_parked BOOLEAN[]
) RETURNS VOID
LANGUAGE plpgsql AS $body$
DECLARE
    c_listed_max CONSTANT INTEGER := 32;
    v_now BIGINT := coalesce(p_now, {schema}.now_ms());
BEGIN
    INSERT INTO {schema}.orchestrator_queue (instance_id, work_item, kind, code, created_at,
        visible_at, timed_at, attempt_count, excused, parked, far, pin)
    SELECT p_instance, m.item, m.kind, m.code, least(m.queued_at, v_now), m.visible_at,
        CASE WHEN m.visible_at > v_now AND NOT m.is_timer THEN v_now END, m.attempts, m.excused,
        m.parked, FALSE,
        CASE WHEN p_before + m.place <= c_listed_max OR m.kind = {KIND_START} OR m.parked
                THEN '\x'::BYTEA
            WHEN m.visible_at > v_now THEN '\x00'::BYTEA END
    FROM unnest(m_item, m_kind, m_code, m_queued_at, m_visible_at, m_is_timer, m_attempts,
        m_excused, m_parked)
        WITH ORDINALITY AS m (item, kind, code, queued_at, visible_at, is_timer, attempts, excused,
            parked, place)
    ORDER BY m.place;
END
$body$;
