//! What the short forms of a commit have in common: one turn with few events and one activity or
//! none. They need fewer arguments than other commits.

use std::collections::HashMap;

use tokio::time::Instant;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::commit::encoded::{EncodedCommit, StoredInstance};
use crate::commit::turn_commit::Committed;
use crate::connect::session::Session;
use crate::error::JobError;
use crate::limits;
use crate::queues::worker_queue::NewWork;
use crate::schema::call::Argument;
use crate::schema::number::to_db;
use crate::store::Store;

/// A turn that a short form may commit.
pub(crate) struct ShortTurn<'a> {
    pub(crate) commit: &'a EncodedCommit,
}

impl<'a> ShortTurn<'a> {
    /// The only commit, if it is short and has not been tried before.
    pub(crate) fn of(commits: &[&'a EncodedCommit]) -> Option<Self> {
        let [commit] = commits else { return None };
        let fits = !commit.again
            && commit.events.len() <= limits::EVENTS_OF_A_STEP_MAX
            && commit.work.len() <= 1
            && commit.kv.is_empty()
            && commit.messages.is_empty()
            && commit.cancelled.is_empty();
        fits.then_some(Self { commit })
    }

    /// Calls a function with the arguments that all have, and these. `Err` means that the turn was
    /// not committed.
    pub(crate) async fn store(
        &self,
        store: &Store,
        session: &Session,
        function: &'static str,
        own: &[Argument<'_>],
    ) -> Result<(Row, Committed), JobError> {
        let commit = self.commit;
        let metadata = &commit.metadata;
        let ids: Vec<i64> = commit.events.iter().map(|event| to_db(event.event_id)).collect();
        let types: Vec<&str> = commit.events.iter().map(|event| event.event_type).collect();
        let texts: Vec<&str> = commit.events.iter().map(|event| event.text.as_str()).collect();
        let commits: Vec<Option<i64>> = commit.commits_of_events().collect();
        let work: Option<&NewWork> = commit.work.first();
        let lease = work.and_then(|work| work.lease);
        let common: [Argument<'_>; 25] = [
            ("p_now", &store.now()),
            ("p_node", &store.node),
            ("p_instance", &commit.token.instance),
            ("p_token", &commit.token.id),
            ("p_execution", &commit.execution_id),
            ("p_name", &metadata.name),
            ("p_version", &metadata.version),
            ("p_status", &metadata.status),
            ("p_output", &metadata.output),
            ("p_custom_set", &commit.custom_status.is_some()),
            ("p_custom", &commit.custom_status.as_ref().and_then(Option::as_deref)),
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
        let arguments = [&common, own].concat();
        let requested = Instant::now();
        let row = session.call(&store.schema, function, &arguments).await?.into_iter().next();
        let row = row.ok_or_else(|| JobError::Broken(format!("{function} returned no row")))?;
        store.observe_server_time(requested, row.get("o_now"));
        let outcome = self.outcome(&row, lease.map(|(token, _)| token));
        Ok((row, outcome))
    }

    fn outcome(&self, row: &Row, lease: Option<Uuid>) -> Committed {
        let custom_status = row
            .get::<_, Option<i64>>("o_custom_version")
            .map(|version| (row.get("o_custom"), version));
        let stored = StoredInstance { incarnation: row.get("o_incarnation"), custom_status };
        let mut outcome = self.commit.outcome(row.get("o_code"), Some(stored));
        if let (Ok((Some(committed), _)), Some(token)) = (&mut outcome, lease) {
            let leased: HashMap<Uuid, i64> =
                row.get::<_, Option<i64>>("o_work_id").map(|id| (token, id)).into_iter().collect();
            committed.leased = self.commit.leased(&leased);
        }
        outcome
    }
}
