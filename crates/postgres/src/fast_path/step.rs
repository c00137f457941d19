//! A single step of a chain, or its end: the most frequent commit, and the one that latency depends
//! on. It needs fewer arguments than other commits. A commit that does not fit takes the plain
//! path.

use std::collections::HashMap;

use tokio::time::Instant;
use uuid::Uuid;

use crate::commit::encoded::{Direct, EncodedCommit, StoredInstance};
use crate::commit::turn_commit::Committed;
use crate::connect::session::Session;
use crate::error::JobError;
use crate::fetch::lease_token::WorkToken;
use crate::limits;
use crate::queues::worker_queue::NewWork;
use crate::schema::call::Argument;
use crate::schema::number::to_db;
use crate::store::Store;

/// A commit that is a step.
pub(crate) struct Step<'a> {
    commit: &'a EncodedCommit,
    direct: &'a Direct,
    finished: WorkToken,
}

impl<'a> Step<'a> {
    /// The commits as a step, if they fit.
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
            && commit.metadata.pin.is_none()
            && !commit.starts_execution(direct);
        fits.then_some(Self { commit, direct, finished: *finished })
    }

    /// Commits the step. `Err` means that it was not committed.
    pub(crate) async fn store(
        &self,
        store: &Store,
        session: &Session,
    ) -> Result<Committed, JobError> {
        let Self { commit, direct, finished } = self;
        let (metadata, mark) = (&commit.metadata, &direct.mark);
        let ids: Vec<i64> = commit.events.iter().map(|event| to_db(event.event_id)).collect();
        let types: Vec<&str> = commit.events.iter().map(|event| event.event_type).collect();
        let texts: Vec<&str> = commit.events.iter().map(|event| event.text.as_str()).collect();
        let commits: Vec<Option<i64>> = commit.commits_of_events().collect();
        let work: Option<&NewWork> = commit.work.first();
        let lease = work.and_then(|work| work.lease);
        let arguments: [Argument<'_>; 32] = [
            ("p_now", &store.now()),
            ("p_node", &store.node),
            ("p_instance", &commit.token.instance),
            ("p_token", &commit.token.id),
            ("p_execution", &commit.execution_id),
            ("p_name", &metadata.name),
            ("p_version", &metadata.version),
            ("p_status", &metadata.status),
            ("p_output", &metadata.output),
            ("p_ends", &metadata.ends),
            ("p_custom_set", &commit.custom_status.is_some()),
            ("p_custom", &commit.custom_status.as_ref().and_then(Option::as_deref)),
            ("d_incarnation", &to_db(mark.incarnation)),
            ("d_execution", &to_db(mark.execution_id)),
            ("d_event", &to_db(mark.event_id)),
            ("d_commit", &mark.commit_id.map(to_db)),
            ("f_id", &finished.row),
            ("f_token", &finished.id),
            ("e_id", &ids),
            ("e_type", &types),
            ("e_data", &texts),
            ("e_commit", &commits),
            ("w_instance", &work.map(|work| work.instance.as_str())),
            ("w_execution", &work.map(|work| work.execution_id)),
            ("w_activity", &work.map(|work| work.activity_id)),
            ("w_session", &work.and_then(|work| work.session_id.as_deref())),
            ("w_route", &work.map(|work| work.route.as_str())),
            ("w_code", &work.and_then(NewWork::code)),
            ("w_item", &work.map(|work| work.text.as_str())),
            ("w_token", &lease.map(|(token, _)| token)),
            ("w_lock_for", &lease.map(|(_, lock_for)| lock_for)),
            ("w_limit", &work.and_then(|work| work.start_limit)),
        ];
        let requested = Instant::now();
        let rows = session.call(&store.schema, COMMIT_STEP, &arguments).await?;
        let Some(row) = rows.first() else {
            return Err(JobError::Broken("commit_step returned no row".to_owned()));
        };
        store.observe_server_time(requested, row.get("o_now"));
        let custom_status = row
            .get::<_, Option<i64>>("o_custom_version")
            .map(|version| (row.get("o_custom"), version));
        let stored = StoredInstance { incarnation: row.get("o_incarnation"), custom_status };
        let mut outcome = commit.outcome(row.get("o_code"), Some(stored));
        if let (Ok((Some(committed), _)), Some((token, _))) = (&mut outcome, lease) {
            let leased: HashMap<Uuid, i64> =
                row.get::<_, Option<i64>>("o_work_id").map(|id| (token, id)).into_iter().collect();
            committed.leased = commit.leased(&leased);
        }
        Ok(outcome)
    }
}

/// Runs the statements of a step on no rows.
pub(crate) async fn warm_up(store: &Store, session: &Session) -> Result<(), JobError> {
    let sql = store.schema.sql(WARM_UP_SQL);
    session.query(&sql, &[]).await?;
    // The first use plans the call itself; that is quick.
    session.prepare(&store.schema.call(COMMIT_STEP)).await?;
    Ok(())
}

/// The function that commits a step.
pub(crate) const COMMIT_STEP: &str = "commit_step";

const WARM_UP_SQL: &str = "SELECT * FROM {schema}.commit_step{v}(
    0, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL, TRUE, FALSE, NULL, 0, 0, 0, NULL, NULL,
    NULL, '{}', '{}', '{}', '{}', NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL)";
