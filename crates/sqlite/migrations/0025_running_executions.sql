-- Gauges count what runs, not what has ended. By time, so that new rows share a page.
CREATE INDEX idx_executions_running ON executions (started_at) WHERE status = 'Running';
