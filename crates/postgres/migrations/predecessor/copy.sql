-- Copies a store of duroxide-pg 0.1, whose tables were renamed, into the tables of the first step.
-- Leases and sessions stay behind: the nodes that hold them cannot commit any more.

-- Our texts write this character as two: it also starts the replacement of a zero character.
CREATE FUNCTION {schema}.duroxide_0_1_text(p_text TEXT) RETURNS TEXT
LANGUAGE sql IMMUTABLE AS $body$
    SELECT replace(p_text, E'\uE000', E'\uE0001')
$body$;

CREATE FUNCTION {schema}.duroxide_0_1_ms(p_time TIMESTAMPTZ) RETURNS BIGINT
LANGUAGE sql IMMUTABLE AS $body$
    SELECT greatest(coalesce(floor(extract(epoch FROM p_time) * 1000)::BIGINT, 0), 0)
$body$;

INSERT INTO {schema}.instances (
    instance_id, orchestration_name, orchestration_version, current_execution_id, created_at,
    updated_at, parent_instance_id, custom_status, custom_status_version, incarnation
)
SELECT
    {schema}.duroxide_0_1_text(o.instance_id),
    {schema}.duroxide_0_1_text(o.orchestration_name),
    {schema}.duroxide_0_1_text(coalesce(o.orchestration_version, 'unknown')),
    o.current_execution_id,
    {schema}.duroxide_0_1_ms(o.created_at),
    {schema}.duroxide_0_1_ms(o.updated_at),
    {schema}.duroxide_0_1_text(o.parent_instance_id),
    {schema}.duroxide_0_1_text(o.custom_status),
    o.custom_status_version,
    hashtextextended(gen_random_uuid()::TEXT, 0) & 9223372036854775807 | 1
FROM {schema}.duroxide_0_1_instances o
ORDER BY o.created_at, o.instance_id;

INSERT INTO {schema}.executions (
    instance_id, execution_id, status, output, started_at, completed_at, duroxide_version,
    duroxide_version_key
)
SELECT
    {schema}.duroxide_0_1_text(o.instance_id),
    o.execution_id,
    o.status,
    {schema}.duroxide_0_1_text(o.output),
    {schema}.duroxide_0_1_ms(o.started_at),
    CASE WHEN o.completed_at IS NOT NULL THEN {schema}.duroxide_0_1_ms(o.completed_at) END,
    o.duroxide_version_major || '.' || o.duroxide_version_minor || '.' || o.duroxide_version_patch,
    int8send(o.duroxide_version_major) || int8send(o.duroxide_version_minor)
        || int8send(o.duroxide_version_patch) || decode('03', 'hex')
FROM {schema}.duroxide_0_1_executions o;

INSERT INTO {schema}.history (
    instance_id, execution_id, event_id, event_type, event_data, created_at
)
SELECT
    {schema}.duroxide_0_1_text(o.instance_id),
    o.execution_id,
    o.event_id,
    -- Its own column says 'Event' for each. No text before the type can look like it: quotes within
    -- texts are escaped.
    coalesce(substring(o.event_data FROM '"type": ?"([A-Za-z]+)"'), o.event_type),
    {schema}.duroxide_0_1_text(o.event_data),
    {schema}.duroxide_0_1_ms(o.created_at)
FROM {schema}.duroxide_0_1_history o;

INSERT INTO {schema}.orchestrator_queue (
    instance_id, work_item, visible_at, created_at, attempt_count, kind
)
SELECT
    {schema}.duroxide_0_1_text(o.instance_id),
    {schema}.duroxide_0_1_text(o.work_item),
    {schema}.duroxide_0_1_ms(o.visible_at),
    {schema}.duroxide_0_1_ms(o.created_at),
    greatest(o.attempt_count, 0),
    CASE
        WHEN o.work_item LIKE '{"StartOrchestration"%' THEN 1
        WHEN o.work_item LIKE '{"ContinueAsNew"%' THEN 1
        WHEN o.work_item LIKE '{"QueueMessage"%' THEN 2
        ELSE 0
    END
FROM {schema}.duroxide_0_1_orchestrator_queue o
ORDER BY o.id;

INSERT INTO {schema}.worker_queue (
    work_item, created_at, visible_at, attempt_count, instance_id, execution_id, activity_id,
    session_id, route
)
SELECT
    {schema}.duroxide_0_1_text(o.work_item),
    {schema}.duroxide_0_1_ms(o.created_at),
    CASE WHEN o.visible_at > now() THEN {schema}.duroxide_0_1_ms(o.visible_at) ELSE 0 END,
    greatest(o.attempt_count, 0),
    {schema}.duroxide_0_1_text(
        coalesce(o.instance_id, o.work_item::JSONB #>> '{ActivityExecute,instance}')),
    coalesce(o.execution_id, (o.work_item::JSONB #>> '{ActivityExecute,execution_id}')::BIGINT),
    coalesce(o.activity_id, (o.work_item::JSONB #>> '{ActivityExecute,id}')::BIGINT),
    {schema}.duroxide_0_1_text(o.session_id),
    coalesce('=' || {schema}.duroxide_0_1_text(o.tag), '')
FROM {schema}.duroxide_0_1_worker_queue o
ORDER BY o.id;

INSERT INTO {schema}.kv_store (instance_id, key, value, last_updated_at_ms)
SELECT
    {schema}.duroxide_0_1_text(o.instance_id), {schema}.duroxide_0_1_text(o.key),
    {schema}.duroxide_0_1_text(o.value), o.last_updated_at_ms
FROM {schema}.duroxide_0_1_kv_store o;

INSERT INTO {schema}.kv_delta (instance_id, key, value, last_updated_at_ms)
SELECT
    {schema}.duroxide_0_1_text(o.instance_id), {schema}.duroxide_0_1_text(o.key),
    {schema}.duroxide_0_1_text(o.value), o.last_updated_at_ms
FROM {schema}.duroxide_0_1_kv_delta o;

DROP TABLE
    {schema}.duroxide_0_1_instances, {schema}.duroxide_0_1_executions,
    {schema}.duroxide_0_1_history, {schema}.duroxide_0_1_orchestrator_queue,
    {schema}.duroxide_0_1_worker_queue, {schema}.duroxide_0_1_instance_locks,
    {schema}.duroxide_0_1_sessions, {schema}.duroxide_0_1_kv_store, {schema}.duroxide_0_1_kv_delta;
DROP FUNCTION {schema}.duroxide_0_1_text(TEXT), {schema}.duroxide_0_1_ms(TIMESTAMPTZ);
