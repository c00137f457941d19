-- Records that a transaction of a sender adds messages or activities. Fails if the sender is closed:
-- the node has given up this transaction and writes its rows in another one.
CREATE OR REPLACE FUNCTION {schema}.record_sending{v}(
    p_now BIGINT, p_sender UUID, p_number BIGINT
) RETURNS VOID
LANGUAGE plpgsql AS $body$
DECLARE
    -- A node uses a sender for at most half of this time.
    c_window CONSTANT BIGINT := 7200000;
BEGIN
    UPDATE {schema}.senders s SET number = p_number
    WHERE s.sender_id = p_sender AND NOT s.is_closed;
    IF NOT FOUND AND p_sender IS NOT NULL THEN
        INSERT INTO {schema}.senders (sender_id, number, is_closed, created_at)
        VALUES (p_sender, p_number, FALSE, p_now);
        -- Each sender removes more than it adds, so that the table stays as small as the window.
        DELETE FROM {schema}.senders s USING (
            SELECT d.sender_id FROM {schema}.senders d
            WHERE d.created_at < p_now - c_window ORDER BY d.created_at LIMIT 4
            FOR UPDATE SKIP LOCKED
        ) AS expired
        WHERE s.sender_id = expired.sender_id;
    END IF;
END
$body$;
