-- Extends the lease of an activity from now on; false if the lease is lost. With `p_expired` also a
-- lease that has expired, as long as no other worker has claimed the activity; its session is in use
-- again, unless another owner has claimed that.
CREATE OR REPLACE FUNCTION {schema}.renew_work{v}(
    p_now BIGINT, p_id BIGINT, p_token UUID, p_extend_for BIGINT, p_expired BOOLEAN,
    OUT o_renewed BOOLEAN
)
LANGUAGE plpgsql AS $body$
DECLARE
    v_now BIGINT := coalesce(p_now, {schema}.now_ms());
    v_session TEXT;
BEGIN
    UPDATE {schema}.worker_queue q
    SET locked_until = v_now + p_extend_for, timed_at = v_now
    WHERE q.id = p_id AND q.lock_token = p_token AND (p_expired OR q.locked_until > v_now)
    RETURNING q.session_id INTO v_session;
    o_renewed := FOUND;
    IF v_session IS NOT NULL AND p_expired THEN
        UPDATE {schema}.sessions s SET last_activity_at = v_now, expired = FALSE,
            timed_at = CASE WHEN s.locked_until > v_now THEN s.timed_at ELSE v_now END,
            locked_until = CASE WHEN s.locked_until > v_now
                THEN s.locked_until ELSE v_now + p_extend_for END
        WHERE s.session_id = v_session;
    ELSIF v_session IS NOT NULL THEN
        PERFORM {schema}.touch_sessions{v}(v_now, ARRAY[v_session]);
    END IF;
END
$body$;
