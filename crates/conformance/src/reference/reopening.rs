//! Executions that an operator's call stores in place of a node.

use duroxide_core::model::ExecutionStatus;
use duroxide_core::providers::kit::last_custom_status;
use duroxide_core::providers::{ExpectedInstance, NewExecution, ProviderErrorKind};

use super::commit::{Encoded, apply};
use super::refusal::Refusal;
use super::store::Store;
use super::suspension::end_lease;
use super::{history, holding, inspect, orchestrator_queue, turn_lock};

/// Stores an execution, if the instance is as expected.
pub(crate) fn store_execution(
    store: &mut Store,
    now: u64,
    execution: &NewExecution,
) -> Result<(), Refusal> {
    let instance = execution.instance.as_str();
    // The checks come first; after them nothing can fail.
    check_expected(store, now, execution)?;
    let follows = store.latest_execution(instance);
    let ending = execution.ending.as_ref().map(Encoded::encode).transpose()?;
    let encoded = Encoded::encode(&execution.commit)?;
    ending.as_ref().map_or(Ok(()), |ending| ending.check(store, instance))?;
    encoded.check(store, instance)?;
    let is_stored = store.instance(instance).is_some();
    if is_stored && !ends(store, execution) {
        return Err(conflict(format!("execution {follows} of instance {instance} runs")));
    }
    if is_stored && execution.commit.execution_id <= follows {
        return Err(conflict(format!("instance {instance} has execution {follows} already")));
    }

    match &execution.expected {
        ExpectedInstance::Held { lock_token } => turn_lock::remove(store, lock_token),
        ExpectedInstance::New | ExpectedInstance::Ended { .. } | _ => {
            end_lease(store, now, instance)?;
        }
    }
    if let Some(ending) = ending {
        apply(store, now, instance, ending);
    }
    if let Some(kv) = &execution.kv {
        store.records.entry(instance.to_owned()).or_default().values.replace(kv);
    }
    apply(store, now, instance, encoded);
    if let Some(stored) = store.records.get_mut(instance).and_then(|it| it.instance.as_mut()) {
        stored.custom_status.clone_from(&execution.custom_status);
        let is_counted = last_custom_status(&execution.commit.history_delta).is_some();
        stored.custom_status_version += u64::from(!is_counted);
    }
    Ok(())
}

fn check_expected(store: &Store, now: u64, execution: &NewExecution) -> Result<(), Refusal> {
    let instance = execution.instance.as_str();
    match &execution.expected {
        ExpectedInstance::New => {
            let mut queued = store.messages.values().filter(|it| it.instance == instance);
            let is_start =
                |text: &str| orchestrator_queue::decode(text).is_some_and(|item| item.is_start());
            let is_starting = queued.any(|message| is_start(&message.text));
            match is_starting || store.records.contains_key(instance) {
                true => Err(conflict(format!("instance {instance} exists"))),
                false => Ok(()),
            }
        }
        ExpectedInstance::Ended { execution_id, last_event_id } => {
            let Some(status) = holding::status(store, instance) else {
                return Err(inspect::not_found(instance));
            };
            let current = store.latest_execution(instance);
            let events = history::stored(store, instance, current);
            let last = events.last().map_or(0, |(id, _)| *id);
            match status.is_terminal() && (current, last) == (*execution_id, *last_event_id) {
                true => Ok(()),
                false => Err(conflict(format!("instance {instance} has changed"))),
            }
        }
        ExpectedInstance::Held { lock_token } => {
            match turn_lock::require_live(store, lock_token, now)? == instance {
                true => Ok(()),
                false => Err(Refusal::new(ProviderErrorKind::LostLease, "Invalid lock token")),
            }
        }
        _unknown => Err(conflict("unknown expectation".to_owned())),
    }
}

/// Whether the current execution has ended, or ends by this call.
fn ends(store: &Store, execution: &NewExecution) -> bool {
    let ending = execution.ending.as_ref().and_then(|ending| ending.metadata.status.as_deref());
    let ending = ending.and_then(ExecutionStatus::parse);
    let status = ending.or_else(|| holding::status(store, &execution.instance));
    status.is_some_and(ExecutionStatus::is_terminal)
}

fn conflict(reason: String) -> Refusal {
    Refusal::new(ProviderErrorKind::Conflict, reason)
}
