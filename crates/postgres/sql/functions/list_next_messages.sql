-- Lists the first of the messages that stand behind others, for each of these instances.
CREATE OR REPLACE FUNCTION {schema}.list_next_messages{v}(p_instances TEXT[]) RETURNS VOID
LANGUAGE plpgsql AS $body$
BEGIN
    UPDATE {schema}.orchestrator_queue q SET pin = '\x00'
    FROM (
        SELECT i.instance_id, n.id FROM unnest(p_instances) AS i (instance_id)
        CROSS JOIN LATERAL (
            SELECT b.id FROM {schema}.orchestrator_queue b
            WHERE b.instance_id = i.instance_id AND b.pin IS NULL
            ORDER BY b.id LIMIT 1) AS n
    ) AS next
    WHERE q.instance_id = next.instance_id AND q.id = next.id;
END
$body$;
