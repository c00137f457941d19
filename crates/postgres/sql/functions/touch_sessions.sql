-- Records the use of sessions whose leases are live. Passes over a session that another transaction
-- holds: it is being used, renewed or released anyway.
CREATE OR REPLACE FUNCTION {schema}.touch_sessions{v}(p_now BIGINT, p_sessions TEXT[]) RETURNS VOID
LANGUAGE plpgsql AS $body$
BEGIN
    UPDATE {schema}.sessions s SET last_activity_at = p_now
    FROM (
        SELECT l.session_id FROM {schema}.sessions l
        WHERE l.session_id = ANY (p_sessions) AND l.locked_until > p_now
        ORDER BY l.session_id FOR UPDATE SKIP LOCKED) AS live
    WHERE s.session_id = live.session_id;
END
$body$;
