//! Executions that an operator's call stores in place of a node.
//!
//! The call holds the instance, ends its current execution if there is one to end, and commits the
//! new one like a turn without messages, all in one job.

use std::collections::BTreeMap;

use duroxide_core::model::ExecutionStatus;
use duroxide_core::providers::{
    ExpectedInstance, KvEntry, NewExecution, ProviderError, ProviderErrorKind,
};
use rusqlite::params;

use crate::commit::turn_commit::{self, EncodedCommit};
use crate::error::{During, JobError};
use crate::fetch::turn_lock;
use crate::queues::client_message;
use crate::read::{history, inspect};
use crate::schema::number::to_db;
use crate::write::writer::Tx;
use crate::{SqliteProvider, deletion_slices, holding, suspension};

const OPERATION: &str = "store_execution";

/// An execution whose parts are encoded.
struct Encoded {
    instance: String,
    expected: ExpectedInstance,
    ending: Option<EncodedCommit>,
    execution_id: u64,
    commit: EncodedCommit,
    kv: Option<BTreeMap<String, KvEntry>>,
}

/// Stores an execution, if the instance is as expected.
pub(crate) async fn store(
    provider: &SqliteProvider,
    execution: NewExecution,
) -> Result<(), ProviderError> {
    let hub = provider.hub();
    let ending = execution.ending.as_ref().map(|ending| EncodedCommit::encode(ending, hub));
    let commit = EncodedCommit::encode(&execution.commit, hub).during(OPERATION)?;
    let mut encoded = Encoded {
        instance: execution.instance,
        expected: execution.expected,
        // The instance goes on: clients that wait for its end do not wait for this one.
        ending: ending.transpose().during(OPERATION)?.map(EncodedCommit::unawaited),
        execution_id: execution.commit.execution_id,
        commit: commit.with_custom_status(execution.custom_status),
        kv: execution.kv,
    };
    provider.writer().run(OPERATION, move |tx| encoded.store(tx)).await
}

impl Encoded {
    fn store(&mut self, tx: &mut Tx<'_>) -> Result<(), JobError> {
        let instance = self.instance.as_str();
        let mut token = hold_expected(tx, instance, &self.expected)?;
        let follows = history::current_execution(tx.conn, instance)?;
        if let Some(ending) = &mut self.ending {
            ending.run_under(token, tx.now);
            turn_commit::commit_turn(tx, ending)?;
            token = suspension::lock(tx, instance, i64::MAX)?;
        }
        let status = holding::stored_status(tx.conn, instance)?;
        if status == Some(ExecutionStatus::Running) {
            return Err(conflict(format!("execution {follows} of instance {instance} runs")));
        }
        if status.is_some() && self.execution_id <= follows {
            return Err(conflict(format!("instance {instance} has execution {follows} already")));
        }
        if let Some(kv) = &self.kv {
            replace_values(tx, instance, kv)?;
        }
        self.commit.run_under(token, tx.now);
        turn_commit::commit_turn(tx, &self.commit)?;
        tx.changes.orchestrator_queue();
        Ok(())
    }
}

/// Leases the instance to this call, if it is as expected; returns the token.
fn hold_expected(
    tx: &mut Tx<'_>,
    instance: &str,
    expected: &ExpectedInstance,
) -> Result<String, JobError> {
    match expected {
        ExpectedInstance::New => {
            let is_known = deletion_slices::hides(tx.conn, instance, None)?
                || client_message::is_known(tx.conn, instance)?;
            if is_known {
                return Err(conflict(format!("Instance {instance} exists")));
            }
        }
        ExpectedInstance::Ended { execution_id, last_event_id } => {
            let Some(status) = holding::stored_status(tx.conn, instance)? else {
                return Err(inspect::not_found(instance));
            };
            let current = history::current_execution(tx.conn, instance)?;
            let last = history::last_event(tx.conn, instance, current)?;
            if !status.is_terminal() || (current, last) != (*execution_id, *last_event_id) {
                let text = format!("Instance {instance} has changed: it is {status}");
                return Err(conflict(text));
            }
        }
        ExpectedInstance::Held { lock_token } => {
            let lock = turn_lock::require_live(tx.conn, lock_token, tx.now)?;
            if lock.token.instance != instance {
                return Err(turn_lock::unknown_token());
            }
            return Ok(lock_token.clone());
        }
        _ => return Err(conflict("an expectation that this provider does not know".to_owned())),
    }
    // A node may be about to remove late messages.
    suspension::end_other_lease(tx, instance)?;
    suspension::lock(tx, instance, i64::MAX)
}

fn conflict(text: String) -> JobError {
    JobError::refused(ProviderErrorKind::Conflict, text)
}

/// Replaces what finished executions left.
fn replace_values(
    tx: &Tx<'_>,
    instance: &str,
    kv: &BTreeMap<String, KvEntry>,
) -> Result<(), JobError> {
    for table in ["DELETE FROM kv_store WHERE instance_id = ?1", DELETE_DELTA_SQL] {
        tx.conn.prepare_cached(table)?.execute([instance])?;
    }
    for (key, entry) in kv {
        tx.conn
            .prepare_cached(
                "INSERT INTO kv_store (instance_id, key, value, last_updated_at_ms)
                 VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute(params![instance, key, entry.value, to_db(entry.last_updated_at_ms)])?;
    }
    Ok(())
}

const DELETE_DELTA_SQL: &str = "DELETE FROM kv_delta WHERE instance_id = ?1";
