-- Lifts the suspension of an instance. A node that retries it right now keeps its lease, which
-- holds messages.
CREATE OR REPLACE FUNCTION {schema}.resume_instance{v}(p_instance TEXT, OUT o_resumed BOOLEAN)
LANGUAGE plpgsql AS $body$
BEGIN
    PERFORM 1 FROM {schema}.instance_locks l WHERE l.instance_id = p_instance FOR UPDATE;
    PERFORM pg_advisory_xact_lock({schema}.instance_key(p_instance));
    UPDATE {schema}.instances i SET suspended_since = NULL
    WHERE i.instance_id = p_instance AND i.suspended_since IS NOT NULL;
    o_resumed := FOUND;
    IF o_resumed THEN
        DELETE FROM {schema}.instance_locks l
        WHERE l.instance_id = p_instance AND cardinality(l.message_ids) = 0;
        PERFORM {schema}.list_next_messages{v}(ARRAY[p_instance]);
    END IF;
END
$body$;
