-- The status of an instance whose current execution has the given one. An execution that continued
-- as new has ended, but its instance runs while the start of the next execution is queued.
CREATE OR REPLACE FUNCTION {schema}.instance_status{v}(p_instance TEXT, p_status TEXT)
RETURNS TEXT
LANGUAGE sql STABLE AS $body$
    SELECT CASE WHEN p_status = 'ContinuedAsNew' AND EXISTS (
        SELECT 1 FROM {schema}.orchestrator_queue q
        WHERE q.instance_id = p_instance AND q.kind = {KIND_START}
            -- Another start of the same id continues nothing.
            AND left(q.work_item, 16) LIKE '_"ContinueAsNew"')
    THEN 'Running' ELSE p_status END
$body$;
