-- Sets messages aside whose instance neither exists nor has a visible start, so that later fetches
-- do not read them again. If the start is delayed, they wait for it. Otherwise queue messages, which
-- are lossless, are parked until the instance exists, and any other message is dropped: it could
-- only harm an instance that is started later. Returns how many were dropped or parked, by instance.
-- The caller holds the locks of the instances.
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
        ELSE
            DELETE FROM {schema}.orchestrator_queue q
            WHERE q.instance_id = v_instance AND q.visible_at <= p_now AND NOT q.parked
                AND q.kind <> {KIND_QUEUE};
            GET DIAGNOSTICS o_count = ROW_COUNT;
            o_instance := v_instance;
            o_dropped := TRUE;
            -- Another transaction may have removed the messages meanwhile.
            IF o_count > 0 THEN RETURN NEXT; END IF;
            UPDATE {schema}.orchestrator_queue q SET parked = TRUE, visible_at = p_now
            WHERE q.instance_id = v_instance AND q.visible_at <= p_now AND NOT q.parked
                AND q.kind = {KIND_QUEUE};
            GET DIAGNOSTICS o_count = ROW_COUNT;
            o_dropped := FALSE;
            IF o_count > 0 THEN RETURN NEXT; END IF;
        END IF;
    END LOOP;
END
$body$;
