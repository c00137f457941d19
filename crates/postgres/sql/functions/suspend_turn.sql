-- Suspends the instance of a leased turn, because its code disagrees with its history. The lease
-- becomes that of the suspension, which holds no messages: they count no attempt.
CREATE OR REPLACE FUNCTION {schema}.suspend_turn{v}(
    p_now BIGINT, p_instance TEXT, p_token UUID, p_suspension UUID, p_reason TEXT,
    p_pause_min BIGINT, p_pause_max BIGINT,
    OUT o_code INTEGER
)
LANGUAGE plpgsql AS $body$
DECLARE
    v_now BIGINT := coalesce(p_now, {schema}.now_ms());
    v_until BIGINT;
    v_since BIGINT;
BEGIN
    SELECT l.locked_until INTO v_until FROM {schema}.instance_locks l
    WHERE l.instance_id = p_instance AND l.lock_token = p_token FOR UPDATE;
    IF NOT FOUND THEN
        o_code := {UNKNOWN_TOKEN};
        RETURN;
    END IF;
    IF v_until <= v_now THEN
        o_code := {LEASE_EXPIRED};
        RETURN;
    END IF;
    UPDATE {schema}.instances i SET
        suspended_since = CASE WHEN i.suspended_by = 'replay'
            THEN coalesce(i.suspended_since, v_now) ELSE v_now END,
        suspended_by = 'replay',
        suspended_reason = p_reason
    WHERE i.instance_id = p_instance
    RETURNING i.suspended_since INTO v_since;
    UPDATE {schema}.instance_locks l SET
        lock_token = p_suspension,
        message_ids = '{}',
        running = FALSE,
        locked_at = v_now,
        locked_until = v_now + least(
            greatest((v_now - coalesce(v_since, v_now)) / 2, p_pause_min), p_pause_max)
    WHERE l.instance_id = p_instance;
    o_code := {COMMITTED};
END
$body$;
