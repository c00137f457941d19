//! The row changes of one workflow on PostgreSQL, as the provider makes them.

use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, Statement};

use super::batches::{NOW_MS, WORK};
use crate::template;

// The first turn stores the start; the commit that schedules an activity also leases it.
const FIRST_TURN: &str = "WITH instance AS (
    INSERT INTO instances (instance_id, orchestration_name, orchestration_version,
        current_execution_id, created_at, updated_at, incarnation)
    SELECT i, 'chain', '1.0.0', 1, $2::BIGINT, $2, 7 FROM unnest($1::TEXT[]) i
), execution AS (
    INSERT INTO executions (instance_id, execution_id, status, started_at, duroxide_version,
        duroxide_version_key)
    SELECT i, 1, 'Running', $2, '0.2.0', '\\x000000020000' FROM unnest($1) i
), started AS (
    INSERT INTO history (instance_id, execution_id, event_id, event_type, event_data, created_at)
    SELECT i, 1, 1, 'OrchestrationStarted', $4::TEXT, $2 FROM unnest($1) i
), scheduled AS (
    INSERT INTO history (instance_id, execution_id, event_id, event_type, event_data, created_at)
    SELECT i, 1, call + 1, 'ActivityScheduled', $5::TEXT, $2
    FROM unnest($1) i, generate_series(1, $3::BIGINT) call
)
INSERT INTO worker_queue (work_item, created_at, lock_token, locked_until, attempt_count,
    instance_id, execution_id, activity_id, route)
SELECT $6, $2, gen_random_uuid(), $2 + 30000, 1, i, 1, call + 1, ''
FROM unnest($1) i, generate_series(1, $3) call
RETURNING id";

const STEP: &str = "WITH gone AS (
    DELETE FROM worker_queue WHERE id = ANY ($3::BIGINT[])
), events AS (
    INSERT INTO history (instance_id, execution_id, event_id, event_type, event_data, created_at)
    SELECT i, 1, $4::BIGINT + e.later, e.kind, e.data, $2::BIGINT FROM unnest($1::TEXT[]) i,
        (VALUES (1, 'ActivityCompleted', $5::TEXT), (2, 'ActivityScheduled', $6::TEXT))
            e (later, kind, data)
), touched AS (
    UPDATE instances SET updated_at = $2 WHERE instance_id = ANY ($1)
)
INSERT INTO worker_queue (work_item, created_at, lock_token, locked_until, attempt_count,
    instance_id, execution_id, activity_id, route)
SELECT $7, $2, gen_random_uuid(), $2 + 30000, 1, i, 1, $4 + 2, '' FROM unnest($1) i
RETURNING id";

const COMPLETED: &str = "WITH gone AS (
    DELETE FROM worker_queue WHERE id = ANY ($3::BIGINT[])
), events AS (
    INSERT INTO history (instance_id, execution_id, event_id, event_type, event_data, created_at)
    SELECT $1::TEXT, 1, $4::BIGINT + later - 1, 'ActivityCompleted', $5::TEXT, $2::BIGINT
    FROM unnest($3) WITH ORDINALITY w (id, later)
)
UPDATE instances SET updated_at = $2 WHERE instance_id = $1";

const LAST_TURN: &str = "WITH gone AS (
    DELETE FROM worker_queue WHERE id = ANY ($3::BIGINT[])
), events AS (
    INSERT INTO history (instance_id, execution_id, event_id, event_type, event_data, created_at)
    SELECT i, 1, $4::BIGINT + e.later, e.kind, e.data, $2::BIGINT FROM unnest($1::TEXT[]) i,
        (VALUES (0, 'ActivityCompleted', $5::TEXT), (1, 'OrchestrationCompleted', $6::TEXT))
            e (later, kind, data)
), execution AS (
    UPDATE executions SET status = 'Completed', output = '5', completed_at = $2
    WHERE instance_id = ANY ($1) AND execution_id = 1
)
UPDATE instances SET updated_at = $2 WHERE instance_id = ANY ($1)";

const LEFT: &str = "SELECT (SELECT count(*) FROM worker_queue)
    + (SELECT count(*) FROM orchestrator_queue)
    + (SELECT count(*) FROM executions WHERE status <> 'Completed')";

/// A connection, its statements, and the texts of a real instance.
pub(super) struct Rows {
    client: Client,
    first_turn: Statement,
    step: Statement,
    completed: Statement,
    last_turn: Statement,
    text_started: String,
    text_scheduled: String,
    text_completed: String,
    text_ended: String,
}

type Parameters<'a> = &'a [&'a (dyn ToSql + Sync)];

impl Rows {
    /// Prepares the statements and reads the texts.
    pub(super) async fn read(client: Client) -> Result<Self, Error> {
        let text = async |event_type: &str| -> Result<String, Error> {
            let sql = "SELECT event_data FROM history WHERE instance_id = $1 AND event_type = $2";
            client.query_one(sql, &[&template::ID, &event_type]).await?.try_get(0)
        };
        Ok(Self {
            text_started: text("OrchestrationStarted").await?,
            text_scheduled: text("ActivityScheduled").await?,
            text_completed: text("ActivityCompleted").await?,
            text_ended: text("OrchestrationCompleted").await?,
            first_turn: client.prepare(FIRST_TURN).await?,
            step: client.prepare(STEP).await?,
            completed: client.prepare(COMPLETED).await?,
            last_turn: client.prepare(LAST_TURN).await?,
            client,
        })
    }

    /// Starts instances with their first turns, which schedule `calls` activities each; returns the
    /// rows of the activities.
    pub(super) async fn first_turn(&self, ids: &[String], calls: i64) -> Result<Vec<i64>, Error> {
        let (started, scheduled) = (&self.text_started, &self.text_scheduled);
        self.work(&self.first_turn, &[&ids, &NOW_MS, &calls, started, scheduled, &WORK]).await
    }

    /// Turns in the middle of a chain: one activity has completed, the next starts.
    pub(super) async fn step(
        &self,
        ids: &[String],
        work: &[i64],
        step: i64,
    ) -> Result<Vec<i64>, Error> {
        let (completed, scheduled) = (&self.text_completed, &self.text_scheduled);
        let event = step * 2;
        self.work(&self.step, &[&ids, &NOW_MS, &work, &event, completed, scheduled, &WORK]).await
    }

    /// Completes activities of one instance; returns the id of the next event.
    pub(super) async fn completed(&self, id: &str, work: &[i64], event: i64) -> Result<i64, Error> {
        let parameters: Parameters<'_> = &[&id, &NOW_MS, &work, &event, &self.text_completed];
        self.client.execute(&self.completed, parameters).await?;
        Ok(event + i64::try_from(work.len()).unwrap_or(i64::MAX))
    }

    /// The last turns: these activities have completed with this event, and so have the workflows.
    pub(super) async fn last_turn(
        &self,
        ids: &[String],
        work: &[i64],
        event: i64,
    ) -> Result<(), Error> {
        let (completed, ended) = (&self.text_completed, &self.text_ended);
        let parameters: Parameters<'_> = &[&ids, &NOW_MS, &work, &event, completed, ended];
        self.client.execute(&self.last_turn, parameters).await.map(drop)
    }

    /// Counts rows in the queues and instances that have not completed.
    pub(super) async fn left(&self) -> Result<i64, Error> {
        self.client.query_one(LEFT, &[]).await?.try_get(0)
    }

    async fn work(&self, sql: &Statement, with: Parameters<'_>) -> Result<Vec<i64>, Error> {
        self.client.query(sql, with).await?.iter().map(|row| row.try_get(0)).collect()
    }
}
