//! One fetched turn, from its lease to its commit.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::batch::Batch;
use super::decide::{Decision, Facts, decide};
use super::instance_state::{Ended, InstanceState};
use super::recall::{Recalled, recall};
use super::{commit, parent, poison, run, trial};
use crate::clock::millis;
use crate::limits::UNUSABLE_TURN_DELAY;
use crate::model::{Event, WorkItem};
use crate::providers::{FetchedTurn, InstanceOutcome, OrchestrationItem, ProviderError};
use crate::runtime::fast_path::FastPath;
use crate::runtime::lease::{Lease, Leased, NewLease};
use crate::runtime::node::Node;
use crate::runtime::poison_text;
use crate::runtime::start_facts::StartFacts;
use crate::runtime::storage_retry::{log_unreleased, retry_for_ever, retry_while_leased};
use crate::runtime::turns::{ReportContext, Turns, WarmExecution, delay_for_test};

/// A turn under a lease of this node.
pub(super) struct LeasedTurn<'a> {
    pub(super) fast_path: &'a Arc<FastPath>,
    pub(super) turns: &'a Turns,
    pub(super) node: &'a Arc<Node>,
    pub(super) worker_id: String,
    pub(super) lease: Lease,
    pub(super) lock_token: String,
    /// Names the commit of this turn.
    pub(super) commit_id: u64,
    pub(super) attempt_count: u32,
    /// Of these attempts, those that count towards poison.
    attempts_counted: u32,
    /// Above this number of attempts, the messages are poison.
    attempts_max: u32,
    /// The time of this turn, which all its events carry.
    pub(super) now_ms: u64,
    /// The fetched item, without messages and history.
    pub(super) item: OrchestrationItem,
    /// The last stored event of the current execution.
    pub(super) last_event_id: u64,
    /// The messages as JSON, shortened, if they were fetched too often; else empty.
    pub(super) payload: String,
    pub(super) state: InstanceState,
    pub(super) batch: Batch,
}

/// Renews the lease of a fetched turn from now on.
pub(super) fn keep(node: &Node, fetched: &FetchedTurn) -> Lease {
    node.keep(NewLease {
        leased: Leased::Turn,
        token: fetched.lock_token.clone(),
        length: node.options.orchestrator_lock_timeout,
        since: fetched.leased_at,
        lost: CancellationToken::new(),
        doubtful: false,
    })
}

/// Processes one fetched turn.
pub(super) async fn process(
    fast_path: &Arc<FastPath>,
    slot: usize,
    lease: Lease,
    mut fetched: FetchedTurn,
) {
    let turns: &Turns = fast_path.turns();
    let node = &turns.node;
    let started = Instant::now();
    let _report = node.reports.announce(&fetched.item.instance);
    delay_for_test(&fetched.item.instance).await;
    let attempts_max = node.attempts_max();
    let counted = trial::counted_attempts(node, &fetched, &lease, attempts_max).await;
    let attempts_counted = match counted {
        Ok(attempts_counted) => attempts_counted,
        Err(error) => return release_unread(node, &fetched, &lease, &error).await,
    };
    let Recalled { warm, history, room: _room } = match recall(turns, &mut fetched).await {
        Ok(recalled) => recalled,
        Err(error) => return release_unread(node, &fetched, &lease, &error).await,
    };
    let mut item = fetched.item;
    let known = warm.as_ref().map(|warm| Arc::clone(&warm.facts));
    let state = instance_state(node, &mut item, known, &history).await;
    let messages = std::mem::take(&mut item.messages);
    let payload = match attempts_counted > attempts_max {
        true => poison_text::of_messages(&messages),
        false => String::new(),
    };
    let turn = LeasedTurn {
        fast_path,
        turns,
        node,
        worker_id: turns.orchestrator_id(slot),
        lease,
        lock_token: fetched.lock_token,
        commit_id: turns.commit_ids.next(),
        attempt_count: fetched.attempt_count,
        attempts_counted,
        attempts_max,
        now_ms: node.provider.clock_of(&item.instance).now_ms(),
        last_event_id: history.last().map_or(fetched.history_after, |event| event.event_id),
        batch: Batch::classify(&item.instance, messages, &state),
        payload,
        item,
        state,
    };
    turn.dispose(warm, &history).await;
    node.metrics().record_orch_dispatcher_processing_duration(millis(started.elapsed()));
}

/// The state of the instance. A finished one stays finished, even if its history is unreadable.
async fn instance_state(
    node: &Node,
    item: &mut OrchestrationItem,
    known: Option<Arc<StartFacts>>,
    history: &[Event],
) -> InstanceState {
    let mut state = InstanceState::of(known, history);
    let outcome = || node.provider.read_outcome(&item.instance);
    if item.history_error.is_some()
        && let Ok(InstanceOutcome::Ended(_)) = retry_for_ever("read_outcome", outcome).await
    {
        state.ended = Some(Ended::Finished);
        item.history_error = None;
    }
    state
}

async fn release_unread(node: &Node, fetched: &FetchedTurn, lease: &Lease, error: &ProviderError) {
    warn!(
        target: "duroxide::runtime",
        instance_id = %fetched.item.instance, %error,
        "could not read what a turn needs; releasing the turn"
    );
    let result = retry_while_leased("abandon_orchestration_item", lease, || {
        node.provider.abandon_orchestration_item(
            &fetched.lock_token,
            Some(UNUSABLE_TURN_DELAY),
            true,
        )
    })
    .await;
    log_unreleased("turn", result);
}

impl LeasedTurn<'_> {
    /// For reports.
    pub(super) fn report_context(&self) -> ReportContext<'_> {
        let (instance, worker_id) = (&self.item.instance, &self.worker_id);
        ReportContext { node: self.node, instance, worker_id }
    }

    async fn dispose(self, warm: Option<WarmExecution>, history: &[Event]) {
        let decision = decide(&Facts {
            state: &self.state,
            batch: &self.batch,
            history_error: self.item.history_error.as_deref(),
            attempt_count: self.attempts_counted,
            attempts_max: self.attempts_max,
            filter: &self.turns.node.filter,
        });
        match decision {
            Decision::ReleaseIncompatible { pin } => {
                self.warn_incompatible(&pin);
                self.release(UNUSABLE_TURN_DELAY).await;
            }
            Decision::ReleaseUnreadable { error } => {
                self.warn_unreadable(&error);
                self.release(UNUSABLE_TURN_DELAY).await;
            }
            Decision::ReleaseUntilSuccessor => {
                let delay = self.node.options.unregistered_backoff.delay(self.attempt_count);
                self.release(delay).await;
            }
            Decision::FailUnreadable { error } => poison::fail_unreadable(self, error).await,
            Decision::FailPoisoned => poison::fail_poisoned(self).await,
            decision @ (Decision::Drain | Decision::Discard) => {
                self.log_discarded(&decision);
                let notices = parent::collision_notices(&self).await;
                commit::drain(self, notices).await;
            }
            Decision::Run => run::run(self, warm, history).await,
        }
    }

    /// Releases the turn, hidden for `delay`. The attempt counts.
    pub(super) async fn release(self, delay: Duration) {
        let result = retry_while_leased("abandon_orchestration_item", &self.lease, || {
            self.node.provider.abandon_orchestration_item(&self.lock_token, Some(delay), false)
        })
        .await;
        log_unreleased("turn", result);
    }

    /// A message of a client that has no effect is worth a warning; late answers are common.
    fn log_discarded(&self, decision: &Decision) {
        let reason = if matches!(decision, Decision::Drain) {
            "the instance has finished"
        } else {
            "the instance does not exist"
        };
        let of_clients = |message: &&WorkItem| {
            matches!(message, WorkItem::ExternalRaised { .. } | WorkItem::QueueMessage { .. })
        };
        let kinds = |messages: &mut dyn Iterator<Item = &WorkItem>| {
            let mut kinds: Vec<&str> = messages.map(WorkItem::variant_name).collect();
            kinds.sort_unstable();
            kinds.dedup();
            kinds.join(", ")
        };
        let inbox = &self.batch.inbox;
        let lost = inbox.iter().filter(of_clients).count();
        if lost > 0 {
            warn!(
                target: "duroxide::runtime",
                instance_id = %self.item.instance,
                count = lost,
                work_items = kinds(&mut inbox.iter().filter(of_clients)),
                reason,
                "discarded messages of clients"
            );
        } else if !inbox.is_empty() {
            debug!(
                target: "duroxide::runtime",
                instance_id = %self.item.instance,
                count = inbox.len(),
                work_items = kinds(&mut inbox.iter()),
                reason,
                "discarded messages"
            );
        }
    }

    fn warn_incompatible(&self, pin: &semver::Version) {
        self.node.metrics().record_orchestration_incompatible_version_abandoned();
        self.node.metrics().record_passed_over("turn", "replay_version");
        warn!(
            target: "duroxide::runtime",
            instance_id = %self.item.instance,
            execution_id = self.item.execution_id,
            pinned_version = %pin,
            supported_range = self.turns.supported_range(),
            "Execution pinned at incompatible version, abandoning (runtime-side check)"
        );
    }

    fn warn_unreadable(&self, error: &str) {
        self.node.metrics().record_passed_over("turn", "history");
        warn!(
            target: "duroxide::runtime",
            instance_id = %self.item.instance,
            execution_id = self.item.execution_id,
            attempt_count = self.attempt_count,
            max_attempts = self.node.options.max_attempts,
            error,
            "history cannot be read; releasing the turn"
        );
    }
}
