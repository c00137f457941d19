//! Suspends an instance whose code disagrees with its history.

use tracing::warn;

use super::process::LeasedTurn;
use crate::engine::{Turn, TurnResult};
use crate::model::EventKind;
use crate::providers::ProviderCapability;
use crate::runtime::start_facts::StartFacts;
use crate::runtime::storage_retry::retry_while_leased;
use crate::runtime::{MismatchPolicy, poison_text};

/// The difference, if the turn suspends its instance instead of failing it.
pub(super) fn difference(
    turn: &LeasedTurn<'_>,
    facts: &StartFacts,
    decided: &Turn,
) -> Option<String> {
    let policy = MismatchPolicy::of(&turn.node.options, &facts.name, &facts.pin);
    let can_suspend = turn.node.provider.capabilities().has(ProviderCapability::Suspension);
    // Under the older rules a cancellation does not win over the difference: the instance must end.
    let is_cancelled = decided
        .events
        .iter()
        .any(|event| matches!(event.kind, EventKind::OrchestrationCancelRequested { .. }));
    let suspends = policy == MismatchPolicy::Suspend && can_suspend && !is_cancelled;
    match &decided.result {
        TurnResult::Failed(details) if suspends => {
            let mut difference = details.display_message();
            // It names what was recorded and what the code asks for, whose inputs have any size.
            poison_text::shorten_text(&mut difference);
            Some(difference)
        }
        TurnResult::Failed(_)
        | TurnResult::Continue
        | TurnResult::Completed(_)
        | TurnResult::ContinueAsNew { .. }
        | TurnResult::Cancelled { .. } => None,
    }
}

/// Suspends the instance. Its messages wait for a node whose code agrees with its history.
pub(super) async fn suspend(turn: LeasedTurn<'_>, facts: &StartFacts, difference: &str) {
    turn.node.metrics().record_orchestration_suspended();
    warn!(
        target: "duroxide::runtime",
        instance_id = %turn.item.instance,
        execution_id = turn.item.execution_id,
        orchestration_name = %facts.name,
        orchestration_version = %facts.version,
        difference,
        "the code disagrees with the history; suspending the instance"
    );
    let result = retry_while_leased("suspend_turn", &turn.lease, || {
        turn.node.provider.suspend_turn(&turn.lock_token, difference)
    })
    .await;
    if let Err(error) = result {
        // The lease expires, and the next turn meets the same difference.
        warn!(
            target: "duroxide::runtime",
            instance_id = %turn.item.instance, %error,
            "could not suspend an instance"
        );
    }
}
