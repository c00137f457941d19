-- Extends expired leases of activities that live nodes of the caller's process hold. Passes over a
-- lease that another transaction is changing: its holder may be completing the activity.
CREATE OR REPLACE FUNCTION {schema}.extend_work{v}(
    p_now BIGINT, p_extend_for BIGINT, h_id BIGINT[], h_token UUID[]
) RETURNS VOID
LANGUAGE plpgsql AS $body$
DECLARE
    v_row RECORD;
BEGIN
    FOR v_row IN
        SELECT q.id, q.lock_token FROM unnest(h_id, h_token) AS h (id, token)
        JOIN {schema}.worker_queue q ON q.id = h.id AND q.lock_token = h.token
        FOR UPDATE OF q SKIP LOCKED
    LOOP
        PERFORM {schema}.renew_work{v}(p_now, v_row.id, v_row.lock_token, p_extend_for, TRUE);
    END LOOP;
END
$body$;
