-- Locks instances that are about to be deleted. Until the transaction ends, no other one leases,
-- starts or commits them or creates their children.
CREATE OR REPLACE FUNCTION {schema}.lock_for_deletion{v}(p_ids TEXT[]) RETURNS VOID
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $body$
BEGIN
    -- In the order in which a commit locks them, so that the two cannot deadlock: a commit holds
    -- its lease before it waits for anything.
    PERFORM 1 FROM {schema}.instance_locks l WHERE l.instance_id = ANY (p_ids)
    ORDER BY l.instance_id FOR UPDATE;
    PERFORM {schema}.lock_instances{v}(p_ids);
    -- A fetch may have leased one while this call waited.
    PERFORM 1 FROM {schema}.instance_locks l WHERE l.instance_id = ANY (p_ids)
    ORDER BY l.instance_id FOR UPDATE;
    PERFORM 1 FROM {schema}.instances i WHERE i.instance_id = ANY (p_ids)
    ORDER BY i.instance_id FOR UPDATE;
END
$body$;
