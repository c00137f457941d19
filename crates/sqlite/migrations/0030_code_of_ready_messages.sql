-- A node is given only turns whose code it has. The route of a ready message begins with the key of
-- the code that the next turn of its instance needs: a name and a version, each followed by
-- char(1). A start keeps the key of what it requests; one with an impossible version keeps none.
ALTER TABLE orchestrator_queue ADD COLUMN code TEXT;
UPDATE orchestrator_queue
SET code = (work_item ->> '$.StartOrchestration.orchestration') || char(1)
    || coalesce(work_item ->> '$.StartOrchestration.version', '') || char(1)
WHERE start_rank = 2 AND json_valid(work_item)
    AND coalesce(work_item ->> '$.StartOrchestration.version', '0.0.0') GLOB '[0-9]*.[0-9]*.[0-9]*';
UPDATE orchestrator_queue
SET code = (work_item ->> '$.ContinueAsNew.orchestration') || char(1)
    || coalesce(work_item ->> '$.ContinueAsNew.version', '') || char(1)
WHERE start_rank = 1 AND json_valid(work_item)
    AND coalesce(work_item ->> '$.ContinueAsNew.version', '0.0.0') GLOB '[0-9]*.[0-9]*.[0-9]*';

UPDATE orchestrator_queue
SET route = coalesce((
    SELECT CASE
        WHEN e.status = 'Running' AND typeof(i.orchestration_name) = 'text'
            AND typeof(i.orchestration_version) = 'text'
        THEN i.orchestration_name || char(1) || i.orchestration_version || char(1)
        WHEN e.status = 'ContinuedAsNew' THEN coalesce((
            SELECT s.code FROM orchestrator_queue s
            WHERE s.instance_id = i.instance_id AND s.start_rank = 1
            ORDER BY s.id LIMIT 1), char(1) || char(1))
        ELSE char(1) || char(1) END
    || iif(typeof(e.duroxide_version) = 'text', e.duroxide_version, '')
    FROM instances i
    JOIN executions e
        ON e.instance_id = i.instance_id AND e.execution_id = i.current_execution_id
    WHERE i.instance_id = orchestrator_queue.instance_id), (
    SELECT s.code FROM orchestrator_queue s
    WHERE s.instance_id = orchestrator_queue.instance_id AND s.start_rank > 0
    ORDER BY s.id LIMIT 1), char(1) || char(1))
WHERE route IS NOT NULL;

-- The turn has a start or a continuation: its commit may change what the instance needs.
ALTER TABLE instance_locks ADD COLUMN has_start INTEGER NOT NULL DEFAULT 1;
