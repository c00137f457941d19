-- Times are milliseconds since 1970 by the clock of this server. Ids compare as bytes.
CREATE TABLE {schema}.instances (
    instance_id TEXT COLLATE "C" PRIMARY KEY,
    orchestration_name TEXT NOT NULL,
    orchestration_version TEXT NOT NULL,
    current_execution_id BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    parent_instance_id TEXT COLLATE "C",
    custom_status TEXT,
    custom_status_version BIGINT NOT NULL DEFAULT 0,
    -- Random, so that a reused id is not confused with the old instance.
    incarnation BIGINT NOT NULL CHECK (incarnation > 0),
    -- Order of creation.
    number BIGINT GENERATED ALWAYS AS IDENTITY,
    -- The node that committed last and probably has the history in memory.
    warm_node BIGINT,
    -- The turn that was committed last: a repeated commit recognises itself by it.
    last_turn UUID
) WITH (fillfactor = 70);
CREATE INDEX idx_instances_parent ON {schema}.instances (parent_instance_id)
    WHERE parent_instance_id IS NOT NULL;
CREATE INDEX idx_instances_created ON {schema}.instances (created_at, number);

CREATE TABLE {schema}.executions (
    instance_id TEXT COLLATE "C" NOT NULL,
    execution_id BIGINT NOT NULL,
    status TEXT NOT NULL,
    output TEXT,
    started_at BIGINT NOT NULL,
    completed_at BIGINT,
    duroxide_version TEXT,
    -- Compares as the version does.
    duroxide_version_key BYTEA,
    PRIMARY KEY (instance_id, execution_id)
) WITH (fillfactor = 80);

CREATE TABLE {schema}.history (
    instance_id TEXT COLLATE "C" NOT NULL,
    execution_id BIGINT NOT NULL,
    event_id BIGINT NOT NULL,
    event_type TEXT NOT NULL,
    event_data TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    CONSTRAINT history_pkey PRIMARY KEY (instance_id, execution_id, event_id)
);

-- Rows come and go all the time: vacuum early, at full speed, by number and not by share.
CREATE TABLE {schema}.orchestrator_queue (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    instance_id TEXT COLLATE "C" NOT NULL,
    work_item TEXT NOT NULL,
    visible_at BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    attempt_count INTEGER NOT NULL DEFAULT 0 CHECK (attempt_count >= 0),
    -- 1 starts an instance, 2 is a queue message, 0 is anything else.
    kind SMALLINT NOT NULL,
    -- Waits for an instance that does not exist.
    parked BOOLEAN NOT NULL DEFAULT FALSE,
    PRIMARY KEY (instance_id, id)
) WITH (
    autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000,
    autovacuum_analyze_scale_factor = 0.2, autovacuum_analyze_threshold = 20000,
    autovacuum_vacuum_cost_delay = 0
);
CREATE INDEX idx_orch_ready ON {schema}.orchestrator_queue (visible_at, id) WHERE NOT parked;
CREATE INDEX idx_orch_parked ON {schema}.orchestrator_queue (id) WHERE parked;

CREATE TABLE {schema}.instance_locks (
    instance_id TEXT COLLATE "C" PRIMARY KEY,
    lock_token UUID NOT NULL,
    locked_until BIGINT NOT NULL,
    -- What the turn consumes. A fetch does not change the messages themselves.
    message_ids BIGINT[] NOT NULL
) WITH (
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 2000,
    autovacuum_analyze_scale_factor = 0.2, autovacuum_analyze_threshold = 20000,
    autovacuum_vacuum_cost_delay = 0
);
CREATE INDEX idx_locks_until ON {schema}.instance_locks (locked_until, instance_id);

CREATE TABLE {schema}.worker_queue (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    work_item TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    visible_at BIGINT NOT NULL DEFAULT 0,
    lock_token UUID,
    -- Null without a lease; the token of an expired lease may stay.
    locked_until BIGINT,
    attempt_count INTEGER NOT NULL DEFAULT 0 CHECK (attempt_count >= 0),
    instance_id TEXT COLLATE "C" NOT NULL,
    execution_id BIGINT NOT NULL,
    activity_id BIGINT NOT NULL,
    session_id TEXT COLLATE "C",
    -- The tag after '=', or nothing: an index does not sort null among the tags.
    route TEXT COLLATE "C" NOT NULL,
    -- What the running activity reported last.
    progress TEXT,
    progress_at BIGINT,
    progress_attempt INTEGER,
    -- By when it must start; null if it may wait for ever or has started. While the lease that may
    -- be its start lasts, `starting` is true and the time stays: the worker may still release the
    -- lease unstarted.
    start_by BIGINT,
    starting BOOLEAN NOT NULL DEFAULT FALSE
) WITH (
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000,
    autovacuum_analyze_scale_factor = 0.2, autovacuum_analyze_threshold = 20000,
    autovacuum_vacuum_cost_delay = 0
);
CREATE INDEX idx_worker_ready ON {schema}.worker_queue (route, id) WHERE locked_until IS NULL;
CREATE INDEX idx_worker_lease ON {schema}.worker_queue (locked_until)
    WHERE locked_until IS NOT NULL;
CREATE INDEX idx_worker_activity
    ON {schema}.worker_queue (instance_id, execution_id, activity_id);
CREATE INDEX idx_worker_delayed ON {schema}.worker_queue (visible_at) WHERE visible_at > 0;
CREATE INDEX idx_worker_session ON {schema}.worker_queue (session_id)
    WHERE session_id IS NOT NULL;

CREATE INDEX idx_worker_start_by ON {schema}.worker_queue (start_by)
    WHERE start_by IS NOT NULL AND NOT starting;

CREATE TABLE {schema}.sessions (
    session_id TEXT COLLATE "C" PRIMARY KEY,
    worker_id TEXT COLLATE "C" NOT NULL,
    locked_until BIGINT NOT NULL,
    last_activity_at BIGINT NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX idx_sessions_worker ON {schema}.sessions (worker_id);
CREATE INDEX idx_sessions_until ON {schema}.sessions (locked_until);

CREATE TABLE {schema}.kv_store (
    instance_id TEXT COLLATE "C" NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    value TEXT NOT NULL,
    last_updated_at_ms BIGINT NOT NULL,
    PRIMARY KEY (instance_id, key)
);

-- What the running execution wrote; a row without a value is a removal.
CREATE TABLE {schema}.kv_delta (
    instance_id TEXT COLLATE "C" NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    value TEXT,
    last_updated_at_ms BIGINT NOT NULL,
    PRIMARY KEY (instance_id, key)
) WITH (fillfactor = 80);

-- Nodes that run activities, until they expire.
CREATE TABLE {schema}.workers (
    node_id TEXT COLLATE "C" PRIMARY KEY,
    tag_filter TEXT NOT NULL,
    activities TEXT NOT NULL,
    expires_at BIGINT NOT NULL
) WITH (fillfactor = 70);
