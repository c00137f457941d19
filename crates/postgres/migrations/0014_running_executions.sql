-- Gauges count what runs, not what has ended.
CREATE INDEX IF NOT EXISTS idx_executions_running ON {schema}.executions (started_at)
    WHERE status = 'Running';
