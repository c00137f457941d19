-- Sets messages aside whose instance neither exists nor has a visible start, so that later fetches
-- do not read them again: they wait for a delayed start, are dropped, or are parked. Returns the
-- instances whose messages were dropped or parked. The caller holds the locks of the instances.
CREATE OR REPLACE FUNCTION {schema}.set_orphans_aside{v}(p_now BIGINT, p_instances TEXT[])
RETURNS TABLE (o_instance TEXT, o_count BIGINT, o_dropped BOOLEAN)
LANGUAGE plpgsql AS $body$
DECLARE
    v_instance TEXT;
    v_start BIGINT;
BEGIN
    FOREACH v_instance IN ARRAY p_instances LOOP
        CONTINUE WHEN EXISTS (
                SELECT 1 FROM {schema}.instances i WHERE i.instance_id = v_instance)
            OR EXISTS (SELECT 1 FROM {schema}.history h WHERE h.instance_id = v_instance)
            OR EXISTS (SELECT 1 FROM {schema}.instance_locks l WHERE l.instance_id = v_instance);
        -- A large turn may be adding the start. Then a later fetch decides.
        CONTINUE WHEN NOT pg_try_advisory_xact_lock({schema}.parking_key{v}(v_instance));
        CONTINUE WHEN EXISTS (
            SELECT 1 FROM {schema}.orchestrator_queue q
            WHERE q.instance_id = v_instance AND q.kind = {KIND_START} AND q.visible_at <= p_now
                AND NOT q.parked);
        SELECT min(q.visible_at) INTO v_start FROM {schema}.orchestrator_queue q
        WHERE q.instance_id = v_instance AND q.kind = {KIND_START} AND q.visible_at > p_now;
        IF v_start IS NOT NULL THEN
            -- A dispatcher abandoned the start with a delay; the other messages wait with it.
            UPDATE {schema}.orchestrator_queue q SET visible_at = v_start
            WHERE q.instance_id = v_instance AND q.visible_at <= p_now AND NOT q.parked;
        ELSIF NOT EXISTS (
            SELECT 1 FROM {schema}.orchestrator_queue q
            WHERE q.instance_id = v_instance AND q.visible_at <= p_now AND NOT q.parked
                AND q.kind <> {KIND_QUEUE}
        ) THEN
            -- An instance does not receive queue messages that came before its start.
            DELETE FROM {schema}.orchestrator_queue q
            WHERE q.instance_id = v_instance AND q.visible_at <= p_now AND NOT q.parked;
            GET DIAGNOSTICS o_count = ROW_COUNT;
            o_instance := v_instance;
            o_dropped := TRUE;
            -- Another transaction may have removed the messages meanwhile.
            IF o_count > 0 THEN RETURN NEXT; END IF;
        ELSE
            UPDATE {schema}.orchestrator_queue q SET parked = TRUE, visible_at = p_now
            WHERE q.instance_id = v_instance AND q.visible_at <= p_now AND NOT q.parked;
            GET DIAGNOSTICS o_count = ROW_COUNT;
            o_instance := v_instance;
            o_dropped := FALSE;
            IF o_count > 0 THEN RETURN NEXT; END IF;
        END IF;
    END LOOP;
END
$body$;
