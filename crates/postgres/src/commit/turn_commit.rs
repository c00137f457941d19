//! Committing turns: history, queues, values and status, all or nothing.

use std::collections::HashMap;

use duroxide_core::providers::CommittedTurn;
use tokio::time::Instant;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::commit::columns::Columns;
use crate::commit::encoded::{EncodedCommit, StoredInstance};
use crate::connect::session::Session;
use crate::error::JobError;
use crate::notify::after_commit;
use crate::notify::change::Changes;
use crate::schema::call::Argument;
use crate::schema::number::place;
use crate::store::Store;

/// A committed turn and its changes; `None` if a direct turn does not follow what is stored.
pub(crate) type Committed = Result<(Option<CommittedTurn>, Changes), JobError>;

/// Commits turns in one call. `Err` means that none was committed. Without turns it warms up.
pub(crate) async fn commit_turns(
    store: &Store,
    session: &Session,
    commits: &[&EncodedCommit],
) -> Result<Vec<Committed>, JobError> {
    if let Some(short) = store.fast_path.short(commits) {
        return Ok(vec![short.store(store, session).await?]);
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
    let mut arguments: Vec<Argument<'_>> = vec![("p_now", &now), ("p_node", &store.node)];
    columns.append_to(&mut arguments);
    arguments.extend::<[Argument<'_>; 4]>([
        ("p_fetched", &fetched),
        ("p_first", &first),
        ("p_nameless", &nameless),
        ("p_executions", &executions),
    ]);
    let requested = Instant::now();
    let rows = session.call(&store.schema, COMMIT_TURNS, &arguments).await?;
    let Some(row) = rows.first() else {
        return Err(JobError::Broken("commit_turns returned no row".to_owned()));
    };
    store.observe_server_time(requested, row.get("o_now"));
    Ok(outcomes(row, commits))
}

/// The function that commits these.
pub(crate) fn function(store: &Store, commits: &[&EncodedCommit]) -> &'static str {
    store.fast_path.short(commits).map_or(COMMIT_TURNS, |short| short.function())
}

fn outcomes(row: &Row, commits: &[&EncodedCommit]) -> Vec<Committed> {
    // Without codes, all are committed.
    let codes: Vec<i32> = row.get::<_, Option<_>>("o_codes").unwrap_or_default();
    let mut instances = stored_instances(row);
    let ids: Vec<i64> = row.get::<_, Option<_>>("o_work_ids").unwrap_or_default();
    let tokens: Vec<Uuid> = row.get::<_, Option<_>>("o_work_tokens").unwrap_or_default();
    let leased: HashMap<Uuid, i64> = tokens.into_iter().zip(ids).collect();
    let ready: Vec<i32> = row.get::<_, Option<_>>("o_ready").unwrap_or_default();
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
        after_commit::add_shared(changes, !ready.is_empty(), row.get("o_lost"));
    }
    outcomes
}

/// Instances as stored now, by the number of their turn.
fn stored_instances(row: &Row) -> HashMap<i32, StoredInstance> {
    let turns: Vec<i32> = row.get("o_turns");
    let incarnations: Vec<Option<i64>> = row.get("o_incarnations");
    let customs: Vec<Option<String>> = row.get("o_customs");
    let versions: Vec<i64> = row.get("o_custom_versions");
    // The custom status is missing for turns that an earlier attempt committed.
    let mut customs = customs.into_iter().zip(versions);
    let instance =
        |(turn, incarnation)| (turn, StoredInstance { incarnation, custom_status: customs.next() });
    turns.into_iter().zip(incarnations).map(instance).collect()
}

const COMMIT_TURNS: &str = "commit_turns";
