-- Leases, delays and limits of activities are lengths of time: what was set at a time in the future,
-- because the server's clock was set back, lasts for its own length from now on. A live holder
-- renews its lease within that. Returns how many it corrected, and whether it passed over some that
-- other transactions are changing.
CREATE OR REPLACE FUNCTION {schema}.correct_future_leases{v}(
    p_now BIGINT, OUT o_count BIGINT, OUT o_left BOOLEAN
)
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $body$
DECLARE
    -- The suspension by an operator.
    c_for_ever CONSTANT BIGINT := 9223372036854775807;
    v_now BIGINT := coalesce(p_now, {schema}.now_ms());
    v_future BIGINT := {schema}.future{v}(p_now);
    v_count BIGINT;
BEGIN
    -- Each node asks once when it starts, usually in vain: that makes one plan and not all.
    IF NOT EXISTS (
            SELECT 1 FROM {schema}.instance_locks l
            WHERE l.locked_until > v_future AND l.locked_until < c_for_ever
                AND l.locked_at > v_future)
        AND NOT EXISTS (
            SELECT 1 FROM {schema}.worker_queue q
            WHERE q.locked_until > v_future AND q.timed_at > v_future)
        AND NOT EXISTS (
            SELECT 1 FROM {schema}.worker_queue q
            WHERE q.visible_at > 0 AND q.visible_at > v_future AND q.timed_at > v_future)
        AND NOT EXISTS (
            SELECT 1 FROM {schema}.worker_queue q
            WHERE q.start_by IS NOT NULL AND NOT q.starting AND q.start_by > v_future
                AND q.created_at > v_future)
        AND NOT EXISTS (
            SELECT 1 FROM {schema}.sessions s
            WHERE NOT s.expired AND s.locked_until > v_future AND s.timed_at > v_future)
        AND NOT EXISTS (SELECT 1 FROM {schema}.workers w WHERE w.timed_at > v_future)
    THEN
        o_count := 0;
        o_left := FALSE;
        RETURN;
    END IF;
    -- Each statement also sees what was stored after the one before it: the clock is read anew.
    v_future := {schema}.future{v}(p_now);
    UPDATE {schema}.instance_locks l
    SET locked_until = v_now + (l.locked_until - l.locked_at), locked_at = v_now
    FROM (
        SELECT k.instance_id FROM {schema}.instance_locks k
        WHERE k.locked_until > v_future AND k.locked_until < c_for_ever
            AND k.locked_at > v_future
        FOR UPDATE SKIP LOCKED) AS future
    WHERE l.instance_id = future.instance_id;
    GET DIAGNOSTICS o_count = ROW_COUNT;
    v_future := {schema}.future{v}(p_now);
    UPDATE {schema}.worker_queue q
    SET locked_until = v_now + (q.locked_until - q.timed_at), timed_at = v_now
    FROM (
        SELECT w.id FROM {schema}.worker_queue w
        WHERE w.locked_until > v_future AND w.timed_at > v_future
        FOR UPDATE SKIP LOCKED) AS future
    WHERE q.id = future.id;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    o_count := o_count + v_count;
    v_future := {schema}.future{v}(p_now);
    UPDATE {schema}.worker_queue q
    SET visible_at = v_now + (q.visible_at - q.timed_at), timed_at = v_now
    FROM (
        SELECT w.id FROM {schema}.worker_queue w
        WHERE w.visible_at > 0 AND w.visible_at > v_future AND w.timed_at > v_future
        FOR UPDATE SKIP LOCKED) AS future
    WHERE q.id = future.id;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    o_count := o_count + v_count;
    v_future := {schema}.future{v}(p_now);
    -- The time by which an activity must start counts from when it was scheduled.
    UPDATE {schema}.worker_queue q
    SET start_by = v_now + (q.start_by - q.created_at), created_at = v_now
    FROM (
        SELECT w.id FROM {schema}.worker_queue w
        WHERE w.start_by IS NOT NULL AND NOT w.starting AND w.start_by > v_future
            AND w.created_at > v_future
        FOR UPDATE SKIP LOCKED) AS future
    WHERE q.id = future.id;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    o_count := o_count + v_count;
    v_future := {schema}.future{v}(p_now);
    UPDATE {schema}.sessions s SET
        locked_until = v_now + (s.locked_until - s.timed_at), timed_at = v_now,
        last_activity_at = least(s.last_activity_at, v_now)
    FROM (
        SELECT f.session_id FROM {schema}.sessions f
        WHERE NOT f.expired AND f.locked_until > v_future AND f.timed_at > v_future
        FOR UPDATE SKIP LOCKED) AS future
    WHERE s.session_id = future.session_id;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    o_count := o_count + v_count;
    v_future := {schema}.future{v}(p_now);
    UPDATE {schema}.workers w
    SET expires_at = v_now + (w.expires_at - w.timed_at), timed_at = v_now
    WHERE w.timed_at > v_future;
    v_future := {schema}.future{v}(p_now);
    o_left := EXISTS (
            SELECT 1 FROM {schema}.instance_locks l
            WHERE l.locked_until > v_future AND l.locked_until < c_for_ever
                AND l.locked_at > v_future)
        OR EXISTS (
            SELECT 1 FROM {schema}.worker_queue q
            WHERE q.locked_until > v_future AND q.timed_at > v_future)
        OR EXISTS (
            SELECT 1 FROM {schema}.worker_queue q
            WHERE q.visible_at > 0 AND q.visible_at > v_future AND q.timed_at > v_future)
        OR EXISTS (
            SELECT 1 FROM {schema}.sessions s
            WHERE NOT s.expired AND s.locked_until > v_future AND s.timed_at > v_future);
END
$body$;
