-- Removes activities under live leases and enqueues their completions. `m_work` is the number of
-- the activity, from one. Returns the server's time and the numbers of the completed activities.
-- With `f_again` an earlier attempt may have succeeded: then an activity that is gone counts as
-- completed.
CREATE OR REPLACE FUNCTION {schema}.complete_work{v}(
    p_now BIGINT, f_id BIGINT[], f_token UUID[], f_again BOOLEAN[],
    m_work INTEGER[], m_instance TEXT[], m_item TEXT[], m_kind SMALLINT[],
    OUT o_now BIGINT, OUT o_ended INTEGER[]
)
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $body$
DECLARE
    v_now BIGINT := coalesce(p_now, {schema}.now_ms());
    v_sessions TEXT[];
BEGIN
    o_now := v_now;
    -- The rows come in order, so that two callers cannot deadlock.
    WITH ended AS (
        DELETE FROM {schema}.worker_queue q
        USING unnest(f_id, f_token) WITH ORDINALITY AS f (id, token, place)
        WHERE q.id = f.id AND q.lock_token = f.token AND q.locked_until > v_now
        RETURNING f.place::INTEGER, q.session_id
    )
    SELECT coalesce(array_agg(e.place), '{}'),
        array_agg(e.session_id) FILTER (WHERE e.session_id IS NOT NULL)
    INTO o_ended, v_sessions FROM ended e;
    IF v_sessions IS NOT NULL THEN
        PERFORM {schema}.touch_sessions{v}(v_now, v_sessions);
    END IF;
    IF cardinality(m_work) = 1 AND cardinality(o_ended) = cardinality(f_id) THEN
        INSERT INTO {schema}.orchestrator_queue
            (instance_id, work_item, visible_at, created_at, kind, far, pin)
        VALUES (m_instance[1], m_item[1], v_now, v_now, m_kind[1], FALSE,
            {schema}.message_pin{v}(v_now, m_instance[1]));
    ELSIF cardinality(m_work) > 0 THEN
        -- Of the messages of an instance, the others stand behind the first: they become visible
        -- together, so that the commit that consumes the first finds them.
        INSERT INTO {schema}.orchestrator_queue
            (instance_id, work_item, visible_at, created_at, kind, far, pin)
        SELECT m.instance_id, m.item, v_now, v_now, m.kind, FALSE,
            CASE WHEN m.number = 1 THEN {schema}.message_pin{v}(v_now, m.instance_id) END
        FROM (
            SELECT a.instance_id, a.item, a.kind,
                row_number() OVER (PARTITION BY a.instance_id ORDER BY a.place) AS number
            FROM unnest(m_work, m_instance, m_item, m_kind) WITH ORDINALITY
                AS a (work, instance_id, item, kind, place)
            WHERE cardinality(o_ended) = cardinality(f_id) OR a.work = ANY (o_ended)
        ) AS m
        ORDER BY m.instance_id, m.number;
    END IF;
    IF cardinality(o_ended) < cardinality(f_id) THEN
        IF TRUE = ANY (f_again) THEN
            SELECT o_ended || coalesce(array_agg(f.place::INTEGER), '{}') INTO o_ended
            FROM unnest(f_id, f_again) WITH ORDINALITY AS f (id, again, place)
            WHERE f.again AND NOT f.place = ANY (o_ended) AND NOT EXISTS (
                SELECT 1 FROM {schema}.worker_queue q WHERE q.id = f.id);
        END IF;
    END IF;
END
$body$;
