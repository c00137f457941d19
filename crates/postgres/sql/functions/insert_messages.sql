-- Adds messages in order. Each is visible from its own time on, or at once; one whose time has passed
-- is visible with the others, so that no fetch sees it before them. A start unparks the messages of
-- its instance.
CREATE OR REPLACE FUNCTION {schema}.insert_messages{v}(
    p_now BIGINT, m_instance TEXT[], m_item TEXT[], m_visible_at BIGINT[], m_kind SMALLINT[],
    m_code BYTEA[]
) RETURNS VOID
LANGUAGE plpgsql AS $body$
DECLARE
    v_starts TEXT[];
BEGIN
    IF cardinality(m_instance) = 0 THEN
        -- Makes the plans.
        PERFORM {schema}.message_pin{v}(p_now, '');
    END IF;
    IF {KIND_START} = ALL (m_kind) THEN
        v_starts := m_instance;
    ELSIF {KIND_START} = ANY (m_kind) THEN
        SELECT array_agg(m.instance_id) INTO v_starts
        FROM unnest(m_instance, m_kind) AS m (instance_id, kind) WHERE m.kind = {KIND_START};
    END IF;
    IF v_starts IS NOT NULL THEN
        -- A concurrent fetch that parks messages of this instance either sees the start, or this
        -- call sees the parked messages.
        PERFORM {schema}.lock_starts{v}(v_starts);
    END IF;
    INSERT INTO {schema}.orchestrator_queue
        (instance_id, work_item, visible_at, created_at, kind, code, far, pin)
    SELECT m.instance_id, m.work_item, greatest(m.visible_at, p_now), p_now, m.kind, m.code, FALSE,
        -- What becomes visible later is always listed, and so is a start. The first start decides
        -- about the code, even while it is delayed.
        CASE WHEN m.kind = {KIND_START} THEN
                CASE WHEN m.visible_at > p_now OR (
                    SELECT 1 FROM {schema}.instances i WHERE i.instance_id = m.instance_id) = 1
                    OR (
                    SELECT 1 FROM {schema}.orchestrator_queue q
                    WHERE q.instance_id = m.instance_id AND q.kind = {KIND_START} LIMIT 1) = 1
                THEN '\x' ELSE coalesce(m.code, '\x') END
            WHEN m.visible_at > p_now THEN coalesce(
                {schema}.message_pin{v}(p_now, m.instance_id), '\x00')
            ELSE {schema}.message_pin{v}(p_now, m.instance_id) END
    FROM unnest(m_instance, m_item, m_visible_at, m_kind, m_code)
        AS m (instance_id, work_item, visible_at, kind, code);
    IF v_starts IS NOT NULL THEN
        PERFORM {schema}.unpark_messages{v}(v_starts);
    END IF;
END
$body$;
