//! Turns that are not fetched: the end of an activity moves a warm instance at once.
//!
//! The code runs on the kept execution before anything is stored, without a lease on the instance.
//! The store decides whether the turn counts: it does if nothing else has happened to the instance
//! meanwhile. If it does not, the execution is dropped and the results go through the queue, as if
//! nothing had been tried.

use std::sync::Arc;

use futures_util::future::join_all;
use tokio::time::Instant;
use tracing::debug;

use super::commit::{changes, warn_of_unkept_limits};
use super::process::delay_for_test;
use super::report::{self, Taken};
use crate::clock::millis;
use crate::providers::{CommittedTurn, DirectTurn, HistoryMark};
use crate::runtime::dispatchers::worker::{
    Assignment, Begins, Finished, Handover, Leading, Stint, begin, cancel,
};
use crate::runtime::node::Node;
use crate::runtime::slots::Slot;
use crate::runtime::warm_cache::Warm;

/// Gathers the ends of activities while a fetched turn of their instance is taken, unless someone
/// does so already. Through the queue they would only make the turns after it collide.
pub(super) fn lead(node: &Node, instance: &str) -> Option<Leading> {
    if node.takes_direct_turns() { node.finished.lead(instance) } else { None }
}

/// Takes turns with what has ended during a fetched one.
pub(super) async fn go_on(node: &Arc<Node>, leading: Leading) {
    if let Some(next) = take_direct_turns(node, leading, None).await {
        begin(node, next);
    }
}

/// Takes turns of an instance until no ended activity waits; the answer is what the caller's own
/// slot runs next.
pub(crate) async fn take_direct_turns(
    node: &Arc<Node>,
    mut leading: Leading,
    mut own: Option<(Slot, Stint)>,
) -> Option<Assignment> {
    let mut begins = Begins::default();
    while let Some(ended) = leading.next() {
        // There is one more turn to take: what the last one has started must not wait for it.
        begins.begin(node);
        begins = take_turn(node, leading.instance(), ended, own.take()).await;
    }
    begins.begin_others(node)
}

/// Takes one turn with the results of activities.
async fn take_turn(
    node: &Arc<Node>,
    instance: &str,
    ended: Vec<Finished>,
    own: Option<(Slot, Stint)>,
) -> Begins {
    let began = Instant::now();
    let execution_id = ended.first().map_or(0, Finished::execution_id);
    let one_execution = ended.iter().all(|finished| finished.execution_id() == execution_id);
    let warm = if one_execution { node.warm.take_quiet(instance, execution_id) } else { None };
    let Some(warm) = warm else {
        enqueue_all(ended).await;
        return Begins::default();
    };
    delay_for_test(instance).await;
    let begins = commit_turn(node, instance, warm, &ended, own).await;
    let Some(begins) = begins else {
        enqueue_all(ended).await;
        return Begins::default();
    };
    node.metrics().record_orch_dispatcher_items_fetched(1);
    for finished in &ended {
        finished.record_stored();
    }
    node.metrics().record_orch_dispatcher_processing_duration(millis(began.elapsed()));
    begins
}

/// Runs the code and commits; `None` if the turn does not count.
async fn commit_turn(
    node: &Arc<Node>,
    instance: &str,
    warm: Warm,
    ended: &[Finished],
    own: Option<(Slot, Stint)>,
) -> Option<Begins> {
    let Warm { mut execution, facts, mark, .. } = warm;
    let now_ms = node.clock.now_ms();
    let messages = ended.iter().map(|finished| finished.completion().clone()).collect();
    let decided = execution.advance(messages, now_ms);
    let summary = report::Summary::of(&execution, &facts, &decided, now_ms);
    let mut commit = changes(instance, &facts, mark.execution_id, decided);
    warn_of_unkept_limits(node, instance, &commit);
    let handover = Handover::plan(node, &mut commit, own);
    let after = HistoryMark { event_id: execution.last_event_id(), ..mark };
    // Until the end of this turn: the next one may be fetched before the answer is here.
    let _committing = (!summary.is_terminal())
        .then(|| node.warm.commit_begins(instance.to_owned(), after, Arc::clone(&facts)));
    let turn = Arc::new(DirectTurn {
        instance: instance.to_owned(),
        mark,
        finished_work: ended.iter().map(|finished| finished.lock_token().to_owned()).collect(),
        commit,
    });
    let committed = submit(node, &turn).await?;
    cancel(node, &turn.commit.cancelled_activities);
    let worker_id = ended.first().map_or("", Finished::worker_id);
    report::report(&Taken { node, instance, worker_id }, &summary);
    if !summary.is_terminal() {
        node.warm
            .put(instance.to_owned(), Warm { execution, facts, mark: after, is_behind: false });
    }
    Some(handover.assign(node, &turn.commit, &committed.leased))
}

async fn submit(node: &Node, turn: &Arc<DirectTurn>) -> Option<CommittedTurn> {
    match node.provider.commit_direct_turn(Arc::clone(turn)).await {
        Ok(committed) => committed,
        // Whatever the reason, the results are still in hand and their leases are kept: they go
        // through the queue. If the turn was stored after all, their leases are gone with it.
        Err(error) => {
            debug!(
                target: "duroxide::runtime",
                instance_id = %turn.instance, %error,
                "a turn could not be committed directly; the results go through the queue"
            );
            None
        }
    }
}

/// All at once, so that they share a commit; begun in the order in which they ended.
async fn enqueue_all(ended: Vec<Finished>) {
    join_all(ended.into_iter().map(Finished::enqueue)).await;
}
