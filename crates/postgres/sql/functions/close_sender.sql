-- Closes a sender and returns the number of its last committed transaction. One that is under way
-- ends first; one that has not started cannot commit any more.
CREATE OR REPLACE FUNCTION {schema}.close_sender{v}(
    p_now BIGINT, p_sender UUID,
    OUT o_number BIGINT
)
LANGUAGE plpgsql AS $body$
BEGIN
    INSERT INTO {schema}.senders AS s (sender_id, number, is_closed, created_at)
    VALUES (p_sender, 0, TRUE, coalesce(p_now, {schema}.now_ms()))
    ON CONFLICT (sender_id) DO UPDATE SET is_closed = TRUE
    RETURNING s.number INTO o_number;
END
$body$;
