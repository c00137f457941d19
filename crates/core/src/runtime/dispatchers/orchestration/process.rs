//! One turn from fetch to commit.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::batch::Batch;
use super::decide::{Decision, Facts, decide};
use super::report::Taken;
use super::standing::{Ended, Standing};
use super::{commit, parent, poison, run};
use crate::clock::millis;
use crate::limits::UNUSABLE_TURN_DELAY;
use crate::model::Event;
use crate::providers::{FetchedTurn, InstanceOutcome, OrchestrationItem, ProviderError};
use crate::runtime::dispatchers::returning::{log_unreturned, persist};
use crate::runtime::lease::{Lease, Leased, NewLease};
use crate::runtime::node::Node;
use crate::runtime::start_facts::StartFacts;
use crate::runtime::warm_cache::Warm;

/// A turn in hand.
pub(super) struct InHand<'a> {
    pub(super) node: &'a Arc<Node>,
    pub(super) worker_id: String,
    pub(super) lease: Lease,
    pub(super) lock_token: String,
    pub(super) attempt_count: u32,
    /// The time of this turn: all its events carry it.
    pub(super) now_ms: u64,
    /// The fetched item, without messages and history.
    pub(super) item: OrchestrationItem,
    /// Last event of the current execution that is stored.
    pub(super) last_event_id: u64,
    /// The messages as JSON, if they were fetched too often.
    pub(super) payload: String,
    pub(super) standing: Standing,
    pub(super) batch: Batch,
}

/// Takes one turn.
pub(super) async fn process(node: &Arc<Node>, slot: usize, mut fetched: FetchedTurn) {
    let began = Instant::now();
    let lease = node.keep(NewLease {
        leased: Leased::Turn,
        token: fetched.lock_token.clone(),
        length: node.options.orchestrator_lock_timeout,
        lost: CancellationToken::new(),
        doubtful: false,
    });
    delay_for_test(&fetched.item.instance).await;
    let (warm, history) = match recall(node, &mut fetched).await {
        Ok(recalled) => recalled,
        Err(error) => return give_back_unread(node, &fetched, &lease, &error).await,
    };
    let mut item = fetched.item;
    let known = warm.as_ref().map(|warm| Arc::clone(&warm.facts));
    let standing = stand(node, &mut item, known, &history).await;
    let messages = std::mem::take(&mut item.messages);
    let payload = match fetched.attempt_count > node.options.max_attempts {
        true => serde_json::to_string(&messages).unwrap_or_else(|error| error.to_string()),
        false => String::new(),
    };
    let turn = InHand {
        node,
        worker_id: node.orchestrator_id(slot),
        lease,
        lock_token: fetched.lock_token,
        attempt_count: fetched.attempt_count,
        now_ms: node.clock.now_ms(),
        last_event_id: history.last().map_or(fetched.history_after, |event| event.event_id),
        batch: Batch::sort(&item.instance, messages, &standing),
        payload,
        item,
        standing,
    };
    turn.dispose(warm, &history).await;
    node.metrics().record_orch_dispatcher_processing_duration(millis(began.elapsed()));
}

/// The kept execution with the events that it has not seen, or the whole history.
async fn recall(
    node: &Node,
    fetched: &mut FetchedTurn,
) -> Result<(Option<Warm>, Vec<Event>), ProviderError> {
    let item = &mut fetched.item;
    let history = std::mem::take(&mut item.history);
    let kept = node.warm.take_settled(&item.instance).await;
    if fetched.history_after == 0 {
        // The provider did not recognise what we hold, so it is of no use.
        return Ok((None, history));
    }
    let fits = kept.filter(|warm| {
        warm.mark.execution_id == item.execution_id && warm.mark.event_id == fetched.history_after
    });
    if fits.is_some() {
        return Ok((fits, history));
    }
    // Evicted after the fetch had left its history out.
    let history = node.provider.read_with_execution(&item.instance, item.execution_id).await?;
    Ok((None, history))
}

/// Where the instance stands. One that is over stays over, even if its history is unreadable.
async fn stand(
    node: &Node,
    item: &mut OrchestrationItem,
    known: Option<Arc<StartFacts>>,
    history: &[Event],
) -> Standing {
    let mut standing = Standing::of(known, history);
    if item.history_error.is_some()
        && let Ok(InstanceOutcome::Ended(_)) = node.provider.read_outcome(&item.instance).await
    {
        standing.ended = Some(Ended::Finished);
        item.history_error = None;
    }
    standing
}

async fn give_back_unread(
    node: &Node,
    fetched: &FetchedTurn,
    lease: &Lease,
    error: &ProviderError,
) {
    warn!(
        target: "duroxide::runtime",
        instance_id = %fetched.item.instance, %error,
        "history could not be read again; the turn is given back"
    );
    let length = node.options.orchestrator_lock_timeout;
    let result = persist("abandon_orchestration_item", lease, length, || {
        node.provider.abandon_orchestration_item(
            &fetched.lock_token,
            Some(UNUSABLE_TURN_DELAY),
            true,
        )
    })
    .await;
    log_unreturned("turn", result);
}

impl InHand<'_> {
    /// For reports.
    pub(super) fn taken(&self) -> Taken<'_> {
        Taken { node: self.node, instance: &self.item.instance, worker_id: &self.worker_id }
    }

    async fn dispose(self, warm: Option<Warm>, history: &[Event]) {
        let decision = decide(&Facts {
            standing: &self.standing,
            batch: &self.batch,
            history_error: self.item.history_error.as_deref(),
            attempt_count: self.attempt_count,
            attempts_max: self.node.options.max_attempts,
            capabilities: &self.node.capabilities,
        });
        match decision {
            Decision::GiveBackIncompatible { pin } => {
                self.warn_incompatible(&pin);
                self.give_back(UNUSABLE_TURN_DELAY).await;
            }
            Decision::GiveBackUnreadable { error } => {
                self.warn_unreadable(&error);
                self.give_back(UNUSABLE_TURN_DELAY).await;
            }
            Decision::GiveBackUntilSuccessor => {
                let delay = self.node.options.unregistered_backoff.delay(self.attempt_count);
                self.give_back(delay).await;
            }
            Decision::FailUnreadable { error } => poison::fail_unreadable(self, error).await,
            Decision::FailPoisoned => poison::fail_poisoned(self).await,
            Decision::Drain | Decision::Discard => {
                let notices = parent::collision_notices(&self).await;
                commit::drain(self, notices).await;
            }
            Decision::Run => run::run(self, warm, history).await,
        }
    }

    /// Gives the turn back, hidden for `delay`; the attempt counts.
    pub(super) async fn give_back(self, delay: Duration) {
        let length = self.node.options.orchestrator_lock_timeout;
        let result = persist("abandon_orchestration_item", &self.lease, length, || {
            self.node.provider.abandon_orchestration_item(&self.lock_token, Some(delay), false)
        })
        .await;
        log_unreturned("turn", result);
    }

    fn warn_incompatible(&self, pin: &semver::Version) {
        self.node.metrics().record_orchestration_incompatible_version_abandoned();
        warn!(
            target: "duroxide::runtime",
            instance_id = %self.item.instance,
            execution_id = self.item.execution_id,
            pinned_version = %pin,
            supported_range = self.node.supported_range(),
            "Execution pinned at incompatible version, abandoning (runtime-side check)"
        );
    }

    fn warn_unreadable(&self, error: &str) {
        warn!(
            target: "duroxide::runtime",
            instance_id = %self.item.instance,
            execution_id = self.item.execution_id,
            attempt_count = self.attempt_count,
            max_attempts = self.node.options.max_attempts,
            error,
            "history cannot be read; the turn is given back"
        );
    }
}

#[cfg(feature = "test-hooks")]
pub(super) async fn delay_for_test(instance: &str) {
    if let Some(delay) = crate::runtime::test_hooks::get_orch_processing_delay(instance) {
        tokio::time::sleep(delay).await;
    }
}

#[cfg(not(feature = "test-hooks"))]
pub(super) async fn delay_for_test(_instance: &str) {}
