-- Corrects messages that were enqueued while the pin of their instance changed, once every
-- transaction of that time has ended: then all of them are visible. A fetch finds out their pin. It
-- leaves the instances of `p_skip` alone.
CREATE OR REPLACE FUNCTION {schema}.settle_pins{v}(p_skip TEXT[]) RETURNS VOID
LANGUAGE plpgsql AS $body$
DECLARE
    v_instance TEXT;
BEGIN
    FOR v_instance IN
        DELETE FROM {schema}.repinned r
        WHERE r.seen <= pg_snapshot_xmin(pg_current_snapshot()) AND r.ctid IN (
            SELECT f.ctid FROM {schema}.repinned f WHERE f.instance_id <> ALL (p_skip)
            LIMIT 64 FOR UPDATE SKIP LOCKED)
        RETURNING r.instance_id
    LOOP
        PERFORM {schema}.forget_routes{v}(ARRAY[v_instance]);
    END LOOP;
    UPDATE {schema}.repinned r SET seen = pg_snapshot_xmax(pg_current_snapshot())
    WHERE r.ctid IN (
        SELECT f.ctid FROM {schema}.repinned f WHERE f.seen IS NULL LIMIT 64
        FOR UPDATE SKIP LOCKED);
END
$body$;
