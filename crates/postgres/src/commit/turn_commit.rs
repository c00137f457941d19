//! Committing turns: history, queues, values and status, all or nothing.

use std::collections::HashMap;

use deadpool_postgres::Object;
use duroxide_core::providers::CommittedTurn;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use crate::commit::columns::Columns;
use crate::commit::encoded::{EncodedCommit, StoredInstance};
use crate::connect::connection;
use crate::error::JobError;
use crate::fast_path::step::{STEP_SQL, Step};
use crate::notify::change::Changes;
use crate::schema::number::place;
use crate::store::Store;

/// A turn that was committed, and what it changed; `None` if a direct turn does not follow.
pub(crate) type Committed = Result<(Option<CommittedTurn>, Changes), JobError>;

/// Commits turns under live leases, in one call. `Err` means that none was committed. Without turns
/// it is a rehearsal, as for everything that is written in groups.
pub(crate) async fn commit_turns(
    store: &Store,
    client: &Object,
    commits: &[&EncodedCommit],
) -> Result<Vec<Committed>, JobError> {
    if let Some(step) = Step::of(commits) {
        return Ok(vec![step.store(store, client).await?]);
    }
    let columns = Columns::of(commits);
    let now = store.now();
    let count = |are: fn(&EncodedCommit) -> bool| {
        let count = commits.iter().filter(|commit| are(commit)).count();
        i32::try_from(count).unwrap_or(i32::MAX)
    };
    let fetched = count(|commit| commit.direct.is_none() && !commit.is_first);
    let first = count(|commit| commit.is_first);
    let nameless = commits.iter().any(|commit| commit.metadata.name.is_none());
    let executions = commits.iter().any(|commit| commit.concerns_execution());
    let mut params: Vec<&(dyn ToSql + Sync)> = vec![&now, &store.node];
    columns.append_to(&mut params);
    params.extend::<[&(dyn ToSql + Sync); 4]>([&fetched, &first, &nameless, &executions]);
    let rows = connection::query(client, &store.schema.sql(COMMIT_SQL), &params).await?;
    let Some(row) = rows.first() else {
        return Err(JobError::Broken("commit_turns gave no answer".to_owned()));
    };
    Ok(read_answer(store, row, commits))
}

/// The statement that commits these.
pub(crate) fn statement(commits: &[&EncodedCommit]) -> &'static str {
    if Step::of(commits).is_some() { STEP_SQL } else { COMMIT_SQL }
}

fn read_answer(store: &Store, row: &Row, commits: &[&EncodedCommit]) -> Vec<Committed> {
    store.observe_server_time(row.get(0));
    // Without codes all are committed.
    let codes: Vec<i32> = row.get::<_, Option<_>>(1).unwrap_or_default();
    let mut instances = stored_instances(row);
    let ids: Vec<i64> = row.get::<_, Option<_>>(4).unwrap_or_default();
    let tokens: Vec<Uuid> = row.get::<_, Option<_>>(5).unwrap_or_default();
    let leased: HashMap<Uuid, i64> = tokens.into_iter().zip(ids).collect();
    let ready: Vec<i32> = row.get::<_, Option<_>>(6).unwrap_or_default();
    let outcome = |(index, commit): (usize, &&EncodedCommit)| {
        let code = codes.get(index).copied().unwrap_or_default();
        let mut outcome = commit.outcome(code, instances.remove(&place(index)));
        if let Ok((Some(committed), _)) = &mut outcome {
            committed.leased = commit.leased(&leased);
            committed.more_waits = ready.contains(&place(index));
        }
        outcome
    };
    let mut outcomes: Vec<Committed> = commits.iter().enumerate().map(outcome).collect();
    if let Some(Ok((_, changes))) = outcomes.iter_mut().find(|it| it.is_ok()) {
        changes.orchestrator_queue |= !ready.is_empty();
        changes.work_locks |= row.get::<_, bool>(7);
    }
    outcomes
}

/// Instances as they are stored now, by the place of their turn.
fn stored_instances(row: &Row) -> HashMap<i32, StoredInstance> {
    let turns: Vec<i32> = row.get(2);
    let incarnations: Vec<Option<i64>> = row.get(3);
    let customs: Vec<Option<String>> = row.get(8);
    let versions: Vec<i64> = row.get(9);
    // Nothing is said of the custom status of turns that an earlier try committed.
    let mut customs = customs.into_iter().zip(versions);
    let instance =
        |(turn, incarnation)| (turn, StoredInstance { incarnation, custom_status: customs.next() });
    turns.into_iter().zip(incarnations).map(instance).collect()
}

/// Commits turns.
const COMMIT_SQL: &str = "SELECT * FROM {schema}.commit_turns(
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
    $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37, $38,
    $39, $40, $41, $42, $43, $44, $45, $46, $47, $48, $49, $50, $51, $52, $53, $54, $55, $56)";
