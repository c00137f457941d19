//! Turns that are not fetched: a finished activity moves an execution in memory at once.
//!
//! The code runs before anything is stored, without a lease on the instance. The store accepts the
//! commit only if nothing else has happened to the instance. If it refuses, the execution is
//! dropped and the results go through the queue.

use std::sync::Arc;

use futures_util::future::join_all;
use tokio::time::Instant;
use tracing::debug;

use super::completions::TurnLeader;
use super::{Assignment, FastPath, LeasePlan, LeasedActivities, Streak};
use crate::clock::millis;
use crate::providers::{CommittedTurn, DirectTurn, ProviderCapability};
use crate::runtime::activities::{EarlierTry, FinishedActivity};
use crate::runtime::slots::Slot;
use crate::runtime::turns::{
    ReportContext, TurnSummary, WarmExecution, delay_for_test, report, turn_commit,
    warn_of_ignored_limits,
};

impl FastPath {
    /// Whether this node takes direct turns at all. Asked each time, because a store may change its
    /// mind.
    fn takes_direct_turns(&self) -> bool {
        let node = self.node();
        node.options.warm_cache.enabled
            && node.provider.capabilities().has(ProviderCapability::DirectTurns)
    }

    /// Whether a finished activity may lead a direct turn of its instance. A first answer, without
    /// taking the execution; [`take_execution`](Self::take_execution) decides.
    pub(super) fn may_lead(&self, instance: &str) -> bool {
        self.takes_direct_turns() && self.turns.warm.is_ready(instance)
    }

    /// Takes the execution that the results are for out of the warm cache, if it can take a direct
    /// turn now.
    fn take_execution(
        &self,
        instance: &str,
        finished: &[FinishedActivity],
    ) -> Option<WarmExecution> {
        let execution_id = finished.first()?.execution_id();
        let is_one = finished.iter().all(|finished| finished.execution_id() == execution_id);
        if is_one { self.turns.warm.take_idle(instance, execution_id) } else { None }
    }

    /// Gathers results while a fetched turn of their instance runs, unless another task leads the
    /// instance. Through the queue, the results would make the turns after it collide.
    pub(crate) fn lead(&self, instance: &str) -> Option<TurnLeader> {
        if self.takes_direct_turns() { self.completions.lead(instance) } else { None }
    }

    /// Takes turns with the results that arrived during a fetched turn.
    pub(crate) async fn follow_up(self: &Arc<Self>, leader: TurnLeader) {
        if let Some(next) = self.take_direct_turns(leader, None).await {
            self.start(next);
        }
    }

    /// Takes turns of an instance until no result waits; returns what the caller's own slot runs
    /// next.
    pub(super) async fn take_direct_turns(
        self: &Arc<Self>,
        mut leader: TurnLeader,
        mut own: Option<(Slot, Streak)>,
    ) -> Option<Assignment> {
        let mut leased = LeasedActivities::default();
        while let Some(finished) = leader.next() {
            // Activities of the last turn must not wait for the next one.
            leased.start(self);
            leased = self.take_turn(leader.instance(), finished, own.take()).await;
        }
        leased.start_others(self)
    }

    /// Takes one turn with the results of activities.
    async fn take_turn(
        self: &Arc<Self>,
        instance: &str,
        finished: Vec<FinishedActivity>,
        own: Option<(Slot, Streak)>,
    ) -> LeasedActivities {
        let started = Instant::now();
        let _report = self.node().reports.announce(instance);
        let Some(warm) = self.take_execution(instance, &finished) else {
            enqueue_all(finished, EarlierTry::None).await;
            return LeasedActivities::default();
        };
        delay_for_test(instance).await;
        let leased = match self.commit_turn(instance, warm, &finished, own).await {
            Ok(leased) => leased,
            Err(earlier) => {
                enqueue_all(finished, earlier).await;
                return LeasedActivities::default();
            }
        };
        let metrics = self.node().metrics();
        metrics.record_orch_dispatcher_items_fetched(1);
        for activity in &finished {
            activity.record_stored();
        }
        metrics.record_orch_dispatcher_processing_duration(millis(started.elapsed()));
        leased
    }

    /// Runs the code and commits. If the store does not accept the turn, the results go through the
    /// queue.
    async fn commit_turn(
        self: &Arc<Self>,
        instance: &str,
        warm: WarmExecution,
        finished: &[FinishedActivity],
        own: Option<(Slot, Streak)>,
    ) -> Result<LeasedActivities, EarlierTry> {
        let node = self.node();
        let WarmExecution { mut execution, facts, mark, .. } = warm;
        let now_ms = node.provider.clock_of(instance).now_ms();
        let messages = finished.iter().map(|activity| activity.completion().clone()).collect();
        let blocked_code = &self.turns.blocked_code;
        let (decided, _ran) =
            blocked_code.watch(instance, &facts, || execution.advance(messages, now_ms));
        let summary = TurnSummary::of(&execution, &facts, &decided, now_ms);
        let mut commit = turn_commit(instance, &facts, mark.execution_id, decided);
        let mut after = mark;
        if !commit.history_delta.is_empty() {
            commit.commit_id = Some(self.turns.commit_ids.next());
            after = mark.with_event_id(execution.last_event_id()).with_commit_id(commit.commit_id);
        }
        warn_of_ignored_limits(node, instance, &commit);
        let plan = LeasePlan::plan(self, &mut commit, own);
        let warm = &self.turns.warm;
        // Until this turn is over: the next one may be fetched before the store has responded.
        let _pending = (!summary.is_terminal())
            .then(|| warm.commit_started(instance.to_owned(), after, Arc::clone(&facts)));
        let turn = Arc::new(DirectTurn::new(instance.to_owned(), mark, commit).with_finished_work(
            finished.iter().map(|work| work.lock_token().to_owned()).collect(),
        ));
        let committed = self.submit(&turn).await?;
        self.cancel(&turn.commit.cancelled_activities);
        let worker_id = finished.first().map_or("", FinishedActivity::worker_id);
        report(&ReportContext { node, instance, worker_id }, &summary);
        if !summary.is_terminal() {
            let kept = WarmExecution { execution, facts, mark: after, is_behind: false };
            warm.put(instance.to_owned(), kept);
        }
        Ok(plan.assign(self, &turn.commit, &committed.leased))
    }

    async fn submit(&self, turn: &Arc<DirectTurn>) -> Result<CommittedTurn, EarlierTry> {
        match self.node().provider.commit_direct_turn(Arc::clone(turn)).await {
            Ok(committed) => committed.ok_or(EarlierTry::None),
            // Whatever the reason, this node holds the results and their leases, so the results go
            // through the queue. If the turn was stored after all, the leases are lost with it.
            Err(error) => {
                debug!(
                    target: "duroxide::runtime",
                    instance_id = %turn.instance, %error,
                    "could not commit a direct turn; enqueueing the results"
                );
                match error.is_store_trouble() {
                    true => Err(EarlierTry::Uncertain),
                    false => Err(EarlierTry::None),
                }
            }
        }
    }
}

/// All at once, so that they share a commit, and in the order in which they finished.
async fn enqueue_all(finished: Vec<FinishedActivity>, earlier: EarlierTry) {
    join_all(finished.into_iter().map(|finished| finished.enqueue(earlier))).await;
}
