//! The backlog on PostgreSQL.

use std::path::Path;

use bench_harness::Job;
use bench_harness::postgres::schema;

use super::{Backlog, FAR};
use crate::floor::connect;
use crate::postgres::OursPostgres;
use crate::template;

/// Creates a store with a backlog in the schema of a folder; returns the number of rows.
pub(crate) fn make(backlog: Backlog, count: i64, folder: &Path) -> Result<u64, String> {
    let opener = OursPostgres { name: "seed", nodes: 1 };
    template::run_on(&opener, folder, Job::ChainThenWait { steps: 0 })?;
    let runtime = tokio::runtime::Runtime::new().map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let client = connect(&schema(folder)).await?;
        let mut rows = 0;
        for sql in statements(backlog, count) {
            rows += client.execute(&sql, &[]).await.map_err(|error| format!("{error}: {sql}"))?;
        }
        // Otherwise the server would do it while a run is measured.
        client.batch_execute("VACUUM ANALYZE").await.map_err(|error| error.to_string())?;
        Ok(rows)
    })
}

fn statements(backlog: Backlog, count: i64) -> Vec<String> {
    match backlog {
        Backlog::ForeignPins => foreign_pins(count),
        Backlog::LeasedInstance => leased_instance(count),
        Backlog::ForeignSession => foreign_session(count),
        Backlog::Parked => parked(count),
    }
}

/// The key of version 99.0.0: three numbers of eight bytes, and a mark.
const KEY: &str = "'\\x00000000000000630000000000000000000000000000000003'::BYTEA";

/// The key of the code that the template runs.
const CODE: &str =
    "convert_to(t.orchestration_name || chr(1) || t.orchestration_version || chr(1), 'UTF8')";

/// The template with another id.
const ID: &str = "'seeded-' || lpad(n::TEXT, 8, '0')";

fn foreign_pins(count: i64) -> Vec<String> {
    let template = template::ID;
    let copies = format!("generate_series(1, {count}) n WHERE t.instance_id = '{template}'");
    vec![
        format!(
            "INSERT INTO instances (instance_id, orchestration_name, orchestration_version,
                 current_execution_id, created_at, updated_at, incarnation)
             SELECT {ID}, t.orchestration_name, t.orchestration_version, t.current_execution_id,
                 t.created_at, t.updated_at, t.incarnation FROM instances t, {copies}"
        ),
        format!(
            "INSERT INTO executions (instance_id, execution_id, status, started_at,
                 duroxide_version, duroxide_version_key)
             SELECT {ID}, t.execution_id, t.status, t.started_at, '99.0.0', {KEY}
             FROM executions t, {copies}"
        ),
        format!(
            "INSERT INTO history (instance_id, execution_id, event_id, event_type, event_data,
                 created_at)
             SELECT {ID}, t.execution_id, t.event_id, t.event_type,
                 replace(t.event_data, '{template}', {ID}), t.created_at
             FROM history t, {copies}"
        ),
        format!(
            "INSERT INTO orchestrator_queue (instance_id, work_item, visible_at, created_at, kind,
                 pin)
             SELECT {ID}, {}, 1, 1, 0, {CODE} || {KEY} FROM instances t, {copies}",
            message(ID)
        ),
    ]
}

fn leased_instance(count: i64) -> Vec<String> {
    let id = format!("'{}'", template::ID);
    vec![
        format!(
            "INSERT INTO instance_locks (instance_id, lock_token, locked_until, message_ids)
             VALUES ({id}, gen_random_uuid(), {FAR}, '{{}}')"
        ),
        // Of many messages only the first are listed.
        format!(
            "INSERT INTO orchestrator_queue (instance_id, work_item, visible_at, created_at, kind,
                 pin)
             SELECT {id}, {}, 1, 1, 0, CASE WHEN n <= 32 THEN {CODE} || e.duroxide_version_key END
             FROM generate_series(1, {count}) n, executions e
             JOIN instances t ON t.instance_id = e.instance_id WHERE e.instance_id = {id}",
            message(&id)
        ),
    ]
}

fn foreign_session(count: i64) -> Vec<String> {
    let template = template::ID;
    vec![
        format!(
            "INSERT INTO sessions (session_id, worker_id, locked_until, last_activity_at)
             VALUES ('foreign', 'another worker', {FAR}, {FAR})"
        ),
        format!(
            "INSERT INTO worker_queue (work_item, created_at, instance_id, execution_id,
                 activity_id, session_id, route, lane)
             SELECT json_build_object('ActivityExecute', json_build_object(
                 'instance', '{template}', 'execution_id', 1, 'id', n, 'name', 'Unknown',
                 'input', '', 'session_id', 'foreign'))::TEXT,
                 1, '{template}', 1, n, 'foreign', '', 1 FROM generate_series(1, {count}) n"
        ),
    ]
}

fn parked(count: i64) -> Vec<String> {
    let id = "'unknown-' || n";
    vec![format!(
        "INSERT INTO orchestrator_queue (instance_id, work_item, visible_at, created_at, kind,
             parked, pin)
         SELECT {id}, {}, 1, 1, 2, TRUE, '\\x' FROM generate_series(1, {count}) n",
        message(id)
    )]
}

/// An event that its instance does not wait for.
fn message(id: &str) -> String {
    format!(
        "json_build_object('ExternalRaised', json_build_object(
             'instance', {id}, 'name', 'Unheard', 'data', ''))::TEXT"
    )
}
