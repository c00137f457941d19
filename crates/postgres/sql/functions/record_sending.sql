-- Records that a transaction of a sender adds messages or activities. Fails if the sender is closed:
-- the node has given up this transaction and writes its rows in another one.
CREATE OR REPLACE FUNCTION {schema}.record_sending{v}(
    p_now BIGINT, p_sender UUID, p_number BIGINT
) RETURNS VOID
LANGUAGE plpgsql AS $body$
DECLARE
    c_window CONSTANT BIGINT := 3600000;
BEGIN
    UPDATE {schema}.senders s SET number = p_number, used_at = p_now
    WHERE s.sender_id = p_sender AND NOT s.is_closed;
    IF NOT FOUND AND p_sender IS NOT NULL THEN
        INSERT INTO {schema}.senders (sender_id, number, is_closed, used_at)
        VALUES (p_sender, p_number, FALSE, p_now);
        -- A node has few senders, and a new one only after a lost response.
        DELETE FROM {schema}.senders s WHERE s.ctid = ANY (ARRAY(
            SELECT d.ctid FROM {schema}.senders d
            WHERE d.used_at < p_now - c_window FOR UPDATE SKIP LOCKED));
    END IF;
END
$body$;
