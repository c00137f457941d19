//! Executions that an operator's call stores in place of a node.
//!
//! The call leases the instance, ends its current execution if there is one to end, and commits the
//! new one like a turn without messages, all in one transaction.

use std::collections::BTreeMap;
use std::sync::Arc;

use duroxide_core::model::ExecutionStatus;
use duroxide_core::providers::{ExpectedInstance, KvEntry, NewExecution, ProviderErrorKind};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::commit::encoded::EncodedCommit;
use crate::commit::turn_commit;
use crate::connect::session::Session;
use crate::error::JobError;
use crate::fetch::lease_token::TurnToken;
use crate::fetch::turn_lock;
use crate::notify::change::Changes;
use crate::read::inspect;
use crate::schema::call::Argument;
use crate::schema::number::{from_db, to_db};
use crate::schema::stored_text::stored;
use crate::statements::Attempts;
use crate::store::Store;

/// An execution whose parts are encoded.
struct Encoded {
    instance: String,
    expected: Expected,
    ending: Option<EncodedCommit>,
    commit: EncodedCommit,
    kv: Option<BTreeMap<String, KvEntry>>,
}

/// What the function expects of the instance. Nulls mean that it is new.
#[derive(Default)]
struct Expected {
    held: Option<Uuid>,
    execution: Option<i64>,
    last_event: Option<i64>,
}

/// Stores an execution, if the instance is as expected.
pub(crate) async fn store(store: &Arc<Store>, execution: NewExecution) -> Result<(), JobError> {
    let encoded = Encoded::of(store, execution)?;
    let store = Arc::clone(store);
    // A caller that stops waiting must not leave a transaction open.
    let written = tokio::spawn(async move { encoded.write(&store).await });
    written.await.map_err(|error| JobError::Broken(format!("store_execution stopped: {error}")))?
}

impl Encoded {
    fn of(store: &Store, execution: NewExecution) -> Result<Self, JobError> {
        let hub = &store.notifier.hub;
        let instance = execution.instance;
        let token = || TurnToken { id: Uuid::new_v4(), instance: stored(&instance) };
        let expected = match &execution.expected {
            ExpectedInstance::New => Expected::default(),
            ExpectedInstance::Ended { execution_id, last_event_id } => Expected {
                execution: Some(to_db(*execution_id)),
                last_event: Some(to_db(*last_event_id)),
                held: None,
            },
            ExpectedInstance::Held { lock_token } => {
                let held =
                    TurnToken::parse(lock_token).filter(|it| it.instance == token().instance);
                let held = held.ok_or_else(turn_lock::unknown_token)?;
                Expected { held: Some(held.id), ..Expected::default() }
            }
            _ => {
                let text = "an expectation that this provider does not know";
                return Err(JobError::refused(ProviderErrorKind::Conflict, text));
            }
        };
        let ending = execution.ending.as_ref();
        let ending = ending.map(|ending| EncodedCommit::encode_under(ending, hub, token()));
        let mut commit = EncodedCommit::encode_under(&execution.commit, hub, token())?;
        commit.custom_status = Some(execution.custom_status.as_deref().map(stored));
        // The instance goes on: clients that wait for its end do not wait for this one.
        let mut ending = ending.transpose()?;
        ending.iter_mut().for_each(|ending| ending.awaited_end = None);
        Ok(Self { instance, expected, ending, commit, kv: execution.kv })
    }

    async fn write(&self, store: &Store) -> Result<(), JobError> {
        let mut attempts = Attempts::new(&store.settings);
        loop {
            match self.write_once(store).await {
                Ok(changes) => {
                    store.publish(changes);
                    store.notifier.turns_committed(None);
                    return Ok(());
                }
                Err(error) if error.is_unavailable() => attempts.pause_or_fail(error).await?,
                Err(error) => return Err(error),
            }
        }
    }

    async fn write_once(&self, store: &Store) -> Result<Changes, JobError> {
        let session = store.connections.single_writers.get().await?;
        session.execute("BEGIN").await.map_err(JobError::without_effect)?;
        match self.run(store, &session).await {
            Ok(changes) => {
                session.execute("COMMIT").await?;
                Ok(changes)
            }
            Err(error) => {
                // What cannot be rolled back is lost with its connection.
                let _rolled_back = session.execute("ROLLBACK").await;
                Err(error.without_effect())
            }
        }
    }

    async fn run(&self, store: &Store, session: &Session) -> Result<Changes, JobError> {
        let first = self.ending.as_ref().unwrap_or(&self.commit);
        let replaces_at_once = self.ending.is_none();
        let row = self.lease(store, session, first, replaces_at_once).await?;
        let mut changes = Changes::default();
        if let Some(ending) = &self.ending {
            changes.merge(commit(store, session, ending).await?);
            self.lease(store, session, &self.commit, true).await?;
        }
        self.require_ended(&row)?;
        changes.merge(commit(store, session, &self.commit).await?);
        changes.orchestrator_queue();
        Ok(changes)
    }

    /// Leases the instance for a commit.
    async fn lease(
        &self,
        store: &Store,
        session: &Session,
        commit: &EncodedCommit,
        replaces: bool,
    ) -> Result<Row, JobError> {
        let entries = self.kv.iter().flatten();
        let keys: Vec<String> = entries.clone().map(|(key, _)| stored(key)).collect();
        let values: Vec<String> = entries.clone().map(|(_, it)| stored(&it.value)).collect();
        let times: Vec<i64> = entries.map(|(_, it)| to_db(it.last_updated_at_ms)).collect();
        let arguments: [Argument<'_>; 11] = [
            ("p_now", &store.now()),
            ("p_instance", &commit.token.instance),
            ("p_token", &commit.token.id),
            ("p_held", &self.expected.held),
            ("p_execution", &self.expected.execution),
            ("p_last_event", &self.expected.last_event),
            ("p_again", &(self.ending.is_some() && replaces)),
            ("p_replaces", &(self.kv.is_some() && replaces)),
            ("k_key", &keys),
            ("k_value", &values),
            ("k_at", &times),
        ];
        let rows = session.call(&store.schema, "reopen_instance", &arguments).await?;
        let row = rows.into_iter().next();
        let row = row.ok_or_else(|| JobError::Broken("reopen_instance returned no row".into()))?;
        match row.get::<_, bool>("o_is_expected") {
            true => Ok(row),
            false => Err(self.refusal(&row)),
        }
    }

    fn refusal(&self, row: &Row) -> JobError {
        let instance = &self.instance;
        if row.get("o_token_is_lost") {
            return turn_lock::unknown_token();
        }
        if self.expected.execution.is_none() {
            return conflict(format!("Instance {instance} exists"));
        }
        match row.get::<_, Option<&str>>("o_status") {
            Some(status) => conflict(format!("Instance {instance} has changed: it is {status}")),
            None => inspect::not_found(instance),
        }
    }

    /// Two executions of an instance do not run at once, and their numbers grow.
    fn require_ended(&self, row: &Row) -> Result<(), JobError> {
        let Some(status) = row.get::<_, Option<&str>>("o_status") else { return Ok(()) };
        let (instance, current) = (&self.instance, row.get::<_, i64>("o_current"));
        let ends = self.ending.as_ref().is_some_and(|ending| ending.metadata.ends);
        let status = ExecutionStatus::parse(status);
        if !ends && !status.is_some_and(ExecutionStatus::is_terminal) {
            let current = from_db(current);
            return Err(conflict(format!("execution {current} of instance {instance} runs")));
        }
        if self.commit.execution_id <= current {
            let current = from_db(current);
            return Err(conflict(format!("instance {instance} has execution {current} already")));
        }
        Ok(())
    }
}

async fn commit(
    store: &Store,
    session: &Session,
    commit: &EncodedCommit,
) -> Result<Changes, JobError> {
    let committed = turn_commit::commit_turns(store, session, &[commit]).await?;
    let committed = committed.into_iter().next().unwrap_or_else(|| Err(turn_lock::unknown_token()));
    committed.map(|(_, changes)| changes)
}

fn conflict(text: String) -> JobError {
    JobError::refused(ProviderErrorKind::Conflict, text)
}
