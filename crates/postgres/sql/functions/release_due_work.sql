-- Makes activities claimable whose time has come: a delay is over, or a lease has expired. Each is
-- found by an index and moved once. True if more than one call may move is due. Of expired leases
-- only those in `p_free` are released, unless it is null.
CREATE OR REPLACE FUNCTION {schema}.release_due_work{v}(p_now BIGINT, p_free UUID[]) RETURNS BOOLEAN
LANGUAGE plpgsql AS $body$
DECLARE
    c_max CONSTANT BIGINT := 512;
    v_left BIGINT := c_max;
    v_moved BIGINT;
    v_session TEXT;
BEGIN
    UPDATE {schema}.worker_queue q
    SET visible_at = 0, lane = (q.session_id IS NOT NULL)::INTEGER
    FROM (
        SELECT w.id FROM {schema}.worker_queue w
        WHERE w.visible_at > 0 AND w.visible_at <= p_now
        ORDER BY w.visible_at LIMIT c_max FOR UPDATE SKIP LOCKED) AS due
    WHERE q.id = due.id;
    GET DIAGNOSTICS v_moved = ROW_COUNT;
    v_left := least(v_left, c_max - v_moved);
    -- The token stays: its holder may still return the activity until another worker leases it.
    UPDATE {schema}.worker_queue q SET locked_until = NULL,
        lane = CASE WHEN q.visible_at > 0 THEN 2 ELSE (q.session_id IS NOT NULL)::INTEGER END
    FROM (
        SELECT w.id FROM {schema}.worker_queue w
        WHERE w.locked_until <= p_now AND (p_free IS NULL OR w.lock_token = ANY (p_free))
        ORDER BY w.locked_until LIMIT c_max FOR UPDATE SKIP LOCKED) AS expired
    WHERE q.id = expired.id;
    GET DIAGNOSTICS v_moved = ROW_COUNT;
    v_left := least(v_left, c_max - v_moved);
    -- A fetch that leaves activities to the owner of their session shares the lock of its row.
    FOR v_session IN
        SELECT s.session_id FROM {schema}.sessions s
        WHERE NOT s.expired AND s.locked_until <= p_now
        ORDER BY s.locked_until LIMIT 64 FOR UPDATE SKIP LOCKED
    LOOP
        UPDATE {schema}.worker_queue q SET lane = 1
        FROM (
            SELECT w.id FROM {schema}.worker_queue w
            WHERE w.session_id = v_session AND w.lane = 2 AND w.visible_at = 0
            ORDER BY w.id LIMIT v_left FOR UPDATE) AS held
        WHERE q.id = held.id;
        GET DIAGNOSTICS v_moved = ROW_COUNT;
        v_left := v_left - v_moved;
        EXIT WHEN v_left <= 0;
        UPDATE {schema}.sessions s SET expired = TRUE WHERE s.session_id = v_session;
    END LOOP;
    RETURN v_left <= 0;
END
$body$;
