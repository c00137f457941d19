//! A lone step of a chain, or its end: the most frequent commit, and the one that is waited for.
//!
//! It says the same as any other commit in fewer words. Whatever does not fit is committed like the
//! rest.

use std::collections::HashMap;

use deadpool_postgres::Object;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use crate::commit::encoded::{Direct, EncodedCommit, StoredInstance};
use crate::commit::turn_commit::Committed;
use crate::connect::connection;
use crate::error::JobError;
use crate::fetch::lease_token::WorkToken;
use crate::limits;
use crate::queues::worker_queue::NewWork;
use crate::schema::number::to_db;
use crate::store::Store;

/// A commit that is a step.
pub(crate) struct Step<'a> {
    commit: &'a EncodedCommit,
    direct: &'a Direct,
    finished: WorkToken,
}

impl<'a> Step<'a> {
    /// The commits as a step, if they are one.
    pub(crate) fn of(commits: &[&'a EncodedCommit]) -> Option<Self> {
        let [commit] = commits else { return None };
        let direct = commit.direct.as_ref()?;
        let [finished] = direct.finished.as_slice() else { return None };
        let fits = !commit.again
            && commit.events.len() <= limits::EVENTS_OF_A_STEP_MAX
            && commit.work.len() <= 1
            && commit.kv.is_empty()
            && commit.messages.is_empty()
            && commit.cancelled.is_empty()
            && commit.metadata.pin.is_none();
        fits.then_some(Self { commit, direct, finished: *finished })
    }

    /// Commits it. `Err` means that it was not committed.
    pub(crate) async fn store(
        &self,
        store: &Store,
        client: &Object,
    ) -> Result<Committed, JobError> {
        let Self { commit, direct, finished } = self;
        let (metadata, mark) = (&commit.metadata, &direct.mark);
        let ids: Vec<i64> = commit.events.iter().map(|event| event.event_id).collect();
        let types: Vec<&str> = commit.events.iter().map(|event| event.event_type).collect();
        let texts: Vec<&str> = commit.events.iter().map(|event| event.text.as_str()).collect();
        let work: Option<&NewWork> = commit.work.first();
        let lease = work.and_then(|work| work.lease);
        let params: [&(dyn ToSql + Sync); 29] = [
            &store.now(),
            &store.node,
            &commit.token.instance,
            &commit.token.id,
            &commit.execution_id,
            &metadata.name,
            &metadata.version,
            &metadata.status,
            &metadata.output,
            &metadata.ends,
            &commit.custom_status.is_some(),
            &commit.custom_status.as_ref().and_then(Option::as_deref),
            &to_db(mark.incarnation),
            &to_db(mark.execution_id),
            &to_db(mark.event_id),
            &finished.row,
            &finished.id,
            &ids,
            &types,
            &texts,
            &work.map(|work| work.instance.as_str()),
            &work.map(|work| work.execution_id),
            &work.map(|work| work.activity_id),
            &work.and_then(|work| work.session_id.as_deref()),
            &work.map(|work| work.route.as_str()),
            &work.map(|work| work.text.as_str()),
            &lease.map(|(token, _)| token),
            &lease.map(|(_, lock_for)| lock_for),
            &work.and_then(|work| work.start_limit),
        ];
        let rows = connection::query(client, &store.schema.sql(STEP_SQL), &params).await?;
        let Some(row) = rows.first() else {
            return Err(JobError::Broken("commit_step gave no answer".to_owned()));
        };
        store.observe_server_time(row.get(0));
        let custom_status = row.get::<_, Option<i64>>(4).map(|version| (row.get(3), version));
        let stored = StoredInstance { incarnation: row.get(2), custom_status };
        let mut outcome = commit.outcome(row.get(1), Some(stored));
        if let (Ok((Some(committed), _)), Some((token, _))) = (&mut outcome, lease) {
            let leased: HashMap<Uuid, i64> =
                row.get::<_, Option<i64>>(5).map(|id| (token, id)).into_iter().collect();
            committed.leased = commit.leased(&leased);
        }
        Ok(outcome)
    }
}

/// Runs the statements of a step on nothing.
pub(crate) async fn warm_up(store: &Store, client: &Object) -> Result<(), JobError> {
    let sql = store.schema.sql(WARM_UP_SQL);
    connection::query(client, &sql, &[]).await?;
    // The statement itself is planned by its first use; that is quick.
    client.prepare_cached(&store.schema.sql(STEP_SQL)).await?;
    Ok(())
}

/// Commits a step.
pub(crate) const STEP_SQL: &str = "SELECT * FROM {schema}.commit_step(
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
    $21, $22, $23, $24, $25, $26, $27, $28, $29)";

const WARM_UP_SQL: &str = "SELECT * FROM {schema}.commit_step(
    0, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL, TRUE, FALSE, NULL, 0, 0, 0, NULL, NULL,
    '{}', '{}', '{}', NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL)";
