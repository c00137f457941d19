//! Failures of instances that cannot make progress.

use std::sync::Arc;

use semver::Version;
use tracing::error;

use super::failing::{Failing, event, failing_turn, parent_of_facts};
use super::instance_state::Ended;
use super::parent::{failure_notice, find_for_unreadable};
use super::process::LeasedTurn;
use super::starting::start_event;
use super::{commit, run};
use crate::limits::UNREADABLE_HISTORY_EVENT_IDS;
use crate::model::pins;
use crate::model::start::{lost_start, unrun_start_kind};
use crate::model::{ErrorDetails, Event, INITIAL_EVENT_ID, PoisonMessageType, poison_with_reason};
use crate::providers::ProviderError;
use crate::runtime::start_facts::StartFacts;
use crate::runtime::turns::{TurnSummary, report};

/// Fails an instance whose messages were fetched too often. The failure belongs to the execution
/// that the messages are for, which may be one that never started.
pub(super) async fn fail_poisoned(turn: LeasedTurn<'_>) {
    let start = missing_start(&turn);
    let (facts, execution_id, event_id) = match &start {
        Some(start) => {
            let facts = StartFacts::of(start).map(Arc::new);
            (facts, start.execution_id, INITIAL_EVENT_ID + 1)
        }
        None => (turn.state.facts.clone(), turn.item.execution_id, turn.last_event_id + 1),
    };
    let Some(facts) = facts else {
        return commit::drain(turn, Vec::new()).await;
    };
    let details = ErrorDetails::Poison {
        attempt_count: turn.attempt_count,
        max_attempts: turn.node.options.max_attempts,
        message_type: PoisonMessageType::Orchestration {
            instance: turn.item.instance.clone(),
            execution_id,
        },
        message: poison_with_reason(why(&turn), turn.payload.clone()),
    };
    let parent = parent_of_facts(&turn, &facts).await;
    let failing = Failing { execution_id, start, event_id, details, parent };
    commit_failure(turn, &facts, failing, &[]).await;
}

/// Why this node never ran the messages, if it is the node's lack of code.
fn why(turn: &LeasedTurn<'_>) -> Option<String> {
    if let Some(facts) = &turn.state.facts
        && let Ok(pin) = Version::parse(&facts.pin)
    {
        if let Some(refusal) = pins::refusal(&pin) {
            return Some(refusal);
        }
        if !turn.node.filter.allows_pin(&pin) {
            let supported = turn.turns.supported_range();
            return Some(format!(
                "it is pinned at version {pin}, and this node replays {supported}"
            ));
        }
    }
    if run::resolve_code(turn).is_some() {
        return None;
    }
    let (name, version) = run::code_of(turn);
    Some(match version {
        Some(version) => {
            format!("orchestration '{name}' in version '{version}' is not registered on this node")
        }
        None => format!("orchestration '{name}' is not registered on this node"),
    })
}

/// The start event of an execution that never started, if there is none in history.
fn missing_start(turn: &LeasedTurn<'_>) -> Option<Event> {
    if let Some(start) = &turn.batch.start {
        return Some(start_event(turn, start, unrun_start_kind(start)?));
    }
    if turn.state.ended != Some(Ended::ContinuedAsNew) {
        return None;
    }
    // The successor's own start is lost: it keeps the name and the parent of its predecessor.
    let facts = turn.state.facts.as_ref()?;
    let kind = lost_start(facts.name.clone(), facts.parent.as_ref());
    Some(event(turn, turn.item.execution_id + 1, INITIAL_EVENT_ID, kind))
}

/// Fails an instance whose history cannot be read.
pub(super) async fn fail_unreadable(turn: LeasedTurn<'_>, error: String) {
    let execution_id = turn.item.execution_id;
    let details = ErrorDetails::Poison {
        attempt_count: turn.attempt_count,
        max_attempts: turn.node.options.max_attempts,
        message_type: PoisonMessageType::FailedDeserialization {
            instance: turn.item.instance.clone(),
            execution_id,
            error: error.clone(),
        },
        message: error,
    };
    let parent = find_for_unreadable(turn.node, &turn.item.instance).await;
    let facts = StartFacts {
        name: turn.item.orchestration_name.clone(),
        version: turn.item.version.clone(),
        parent: None,
        pin: String::new(),
        started_at_ms: turn.now_ms,
    };
    let [event_id, other_ids @ ..] = UNREADABLE_HISTORY_EVENT_IDS;
    let failing = Failing { execution_id, start: None, event_id, details, parent };
    commit_failure(turn, &facts, failing, &other_ids).await;
}

/// Commits a failure. If the store refuses the id of its event, the event takes one of `other_ids`.
async fn commit_failure(
    turn: LeasedTurn<'_>,
    facts: &StartFacts,
    failing: Failing,
    other_ids: &[u64],
) {
    error!(
        target: "duroxide::runtime",
        instance_id = %turn.item.instance,
        execution_id = failing.execution_id,
        attempt_count = turn.attempt_count,
        max_attempts = turn.node.options.max_attempts,
        error = failing.details.display_message(),
        "an instance cannot make progress; failing it"
    );
    let mut event_ids = [failing.event_id].into_iter().chain(other_ids.iter().copied()).peekable();
    while let Some(event_id) = event_ids.next() {
        let numbered = Failing { event_id, ..failing.clone() };
        match try_commit(&turn, facts, numbered).await {
            Ok(()) => return,
            Err(error) if error.is_store_trouble() => {
                return commit::release_uncommitted(&turn, &error).await;
            }
            Err(_taken) if event_ids.peek().is_some() => {}
            Err(error) => {
                error!(
                    target: "duroxide::runtime",
                    instance_id = %turn.item.instance,
                    execution_id = failing.execution_id,
                    %error,
                    "the store refused the failure of an instance; dropping its messages"
                );
            }
        }
    }
    // If the messages stayed, they would be fetched for ever. The parent gets the failure anyway.
    let Failing { parent, details, .. } = failing;
    let notices = parent.map(|parent| failure_notice(parent, details)).into_iter().collect();
    commit::drain(turn, notices).await;
}

async fn try_commit(
    turn: &LeasedTurn<'_>,
    facts: &StartFacts,
    failing: Failing,
) -> Result<(), ProviderError> {
    let execution_id = failing.execution_id;
    let decided = failing_turn(turn, failing).await;
    let summary = TurnSummary::without_code(execution_id, facts, &decided, turn.now_ms)
        .started_by(turn.batch.start.as_ref());
    let mut commit = commit::assemble(turn, facts, execution_id, decided);
    // A start event that exists only to record a failure pins no version.
    commit.metadata.pinned_duroxide_version = None;
    commit::submit(turn, Arc::new(commit)).await?;
    report(&turn.report_context(), &summary);
    Ok(())
}
