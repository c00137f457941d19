-- Ids of instances that an index finds, `p_max` at the most. They may be unknown, or come twice. All
-- queued starts are read to find those that continue an instance; if there are more than `p_max`,
-- the set counts as full.
CREATE OR REPLACE FUNCTION {schema}.instance_set{v}(
    p_kind TEXT, p_texts TEXT[], p_ends TEXT[], p_from BIGINT, p_to BIGINT, p_max BIGINT
) RETURNS TABLE (o_instance TEXT)
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off
SET enable_hashjoin = off SET enable_mergejoin = off
AS $body$
BEGIN
    IF p_kind = 'ids' THEN
        RETURN QUERY SELECT t.id FROM unnest(p_texts) AS t (id) LIMIT p_max;
    ELSIF p_kind = 'id_prefix' THEN
        RETURN QUERY SELECT i.instance_id FROM {schema}.instances i
        WHERE i.instance_id >= p_texts[1] AND i.instance_id < p_ends[1] LIMIT p_max;
    ELSIF p_kind = 'children' THEN
        RETURN QUERY SELECT i.instance_id FROM {schema}.instances i
        WHERE i.parent_instance_id = p_texts[1] LIMIT p_max;
    ELSIF p_kind = 'named' THEN
        RETURN QUERY SELECT i.instance_id FROM {schema}.instances i
        WHERE left(i.orchestration_name, 64) COLLATE "C" = left(p_texts[1], 64) COLLATE "C"
        LIMIT p_max;
    ELSIF p_kind = 'created' THEN
        RETURN QUERY SELECT i.instance_id FROM {schema}.instances i
        WHERE i.created_at >= p_from AND i.created_at <= p_to LIMIT p_max;
    ELSIF p_kind = 'suspended' THEN
        RETURN QUERY SELECT i.instance_id FROM {schema}.instances i
        WHERE i.suspended_since IS NOT NULL LIMIT p_max;
    ELSIF p_kind = 'attribute' THEN
        -- What the running execution wrote is in `kv_delta`. A value that it has replaced is found
        -- too; the search compares the live ones.
        RETURN QUERY SELECT k.instance_id
        FROM unnest(p_ends) WITH ORDINALITY AS r (range_end, place)
        CROSS JOIN LATERAL (
            (SELECT s.instance_id FROM {schema}.kv_store s
            WHERE s.key >= '__duroxide_attribute:' AND s.key < '__duroxide_attribute;'
                AND octet_length(s.value) <= 512 AND s.key = p_texts[1]
                AND s.value COLLATE "C" >= p_texts[r.place + 1]
                AND s.value COLLATE "C" < r.range_end
            LIMIT p_max)
            UNION ALL
            (SELECT d.instance_id FROM {schema}.kv_delta d
            WHERE d.key >= '__duroxide_attribute:' AND d.key < '__duroxide_attribute;'
                AND octet_length(d.value) <= 512 AND d.key = p_texts[1]
                AND d.value COLLATE "C" >= p_texts[r.place + 1]
                AND d.value COLLATE "C" < r.range_end
            LIMIT p_max)) AS k
        LIMIT p_max;
    END IF;
    IF p_kind IN ('failed', 'not_completed') THEN
        RETURN QUERY SELECT e.instance_id FROM {schema}.executions e
        WHERE e.status = 'Failed' LIMIT p_max;
    END IF;
    IF p_kind IN ('unended', 'not_completed') THEN
        RETURN QUERY SELECT e.instance_id FROM {schema}.executions e
        WHERE e.status = 'Running' LIMIT p_max;
        RETURN QUERY SELECT CASE WHEN s.starts < p_max THEN s.instance_id ELSE '' END
        FROM (
            SELECT q.instance_id, count(*) OVER () AS starts,
                left(q.work_item, 16) LIKE '_"ContinueAsNew"' AS continues
            FROM (
                SELECT o.instance_id, o.work_item FROM {schema}.orchestrator_queue o
                WHERE o.kind = {KIND_START} LIMIT p_max) AS q) AS s
        WHERE s.continues OR s.starts >= p_max;
    END IF;
END
$body$;
