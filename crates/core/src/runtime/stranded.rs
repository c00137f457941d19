//! Warns of work that no live node can run, such as a start with a mistyped name, and counts it.
//! Ends what is cancelled of it.
//!
//! No node fetches such work, so nothing else would mention it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep};
use tracing::{debug, warn};

use super::cancelled::CancelledTurns;
use super::fast_path::FastPath;
use super::live_nodes;
use super::node::Node;
use super::sweeper::Sweeper;
use crate::client::{Found, LiveNodes, Place, StrandedItem, StrandedReason, StrandedWork, scan};
use crate::limits::{
    BACKGROUND_INTERVAL_MIN, STRANDED_CHECK_INTERVAL, STRANDED_CHECK_MAX,
    STRANDED_CHECKS_PER_LIMIT, STRANDED_COUNTED_MAX, STRANDED_WARNING_INTERVAL,
    STRANDED_WARNINGS_MAX,
};
use crate::providers::{ProviderCapability, ProviderError};

/// Searches the queues at an interval until the node stops, from when the node is `announced` on.
pub(super) fn start(fast_path: &Arc<FastPath>, announced: Arc<Notify>) {
    let node = &fast_path.turns().node;
    if !node.provider.capabilities().has(ProviderCapability::Workers) {
        return;
    }
    let kept = Arc::clone(fast_path);
    node.tasks.supervise("stranded work", move || keep(Arc::clone(&kept), Arc::clone(&announced)));
}

async fn keep(fast_path: Arc<FastPath>, announced: Arc<Notify>) {
    let node = &fast_path.turns().node;
    let mut pass = Pass::new(sweeper(node), cancelled_turns(node));
    let interval = match node.options.stranded_work_limit {
        Some(limit) => STRANDED_CHECK_INTERVAL.min(limit / STRANDED_CHECKS_PER_LIMIT),
        None => STRANDED_CHECK_INTERVAL,
    };
    if node.tasks.unless_stopped(announced.notified()).await.is_none() {
        return;
    }
    // A task that is restarted after a panic does not wait for the next announcement.
    announced.notify_one();
    loop {
        match node.tasks.unless_stopped(pass.proceed(&fast_path)).await {
            None => return,
            Some(Ok(())) => {}
            Some(Err(error)) => debug!(
                target: "duroxide::runtime", %error,
                "could not search for stranded work; retrying at the next interval"
            ),
        }
        let pause = sleep(interval.max(BACKGROUND_INTERVAL_MIN));
        if node.tasks.unless_stopped(pause).await.is_none() {
            return;
        }
    }
}

/// What fails stranded work, if the options say so and the store can lease exactly such work.
fn sweeper(node: &Node) -> Option<Sweeper> {
    let limit = node.options.stranded_work_limit?;
    let needed = [ProviderCapability::CodeFilter, ProviderCapability::ActivityFilter];
    let capabilities = node.provider.capabilities();
    if needed.into_iter().all(|needed| capabilities.has(needed)) {
        return Some(Sweeper::new(limit));
    }
    warn!(
        target: "duroxide::runtime",
        "the store cannot filter by handlers; stranded work waits without a limit"
    );
    None
}

/// What ends cancelled instances, if the store lists and holds them.
fn cancelled_turns(node: &Node) -> Option<CancelledTurns> {
    let holds = node.provider.capabilities().has(ProviderCapability::Holding);
    holds.then(CancelledTurns::default)
}

/// One pass through both queues, which may take several checks.
struct Pass {
    place: Place,
    counts: Counts,
    warnings: Warnings,
    sweeper: Option<Sweeper>,
    cancelled: Option<CancelledTurns>,
}

impl Pass {
    fn new(sweeper: Option<Sweeper>, cancelled: Option<CancelledTurns>) -> Self {
        let (counts, warnings) = (Counts::default(), Warnings::default());
        Self { place: Place::START, counts, warnings, sweeper, cancelled }
    }

    /// Examines a limited part of the queues.
    async fn proceed(&mut self, fast_path: &Arc<FastPath>) -> Result<(), ProviderError> {
        let node = &fast_path.turns().node;
        let (nodes, found) = match self.search(node).await {
            Ok(Some(found)) => found,
            unsearched => {
                if let Some(sweeper) = &mut self.sweeper {
                    sweeper.forget();
                }
                return unsearched.map(|_| ());
            }
        };
        let now_ms = node.provider.clock().now_ms();
        if let Some(sweeper) = &mut self.sweeper {
            sweeper.searched(now_ms);
        }
        let mut warned = 0;
        for stranded in &found.work {
            self.counts.add(stranded);
            if let Some(sweeper) = &mut self.sweeper {
                sweeper.note(stranded, now_ms);
            }
            if warned < STRANDED_WARNINGS_MAX && self.warnings.is_due(stranded, Instant::now()) {
                warned += 1;
                warn_of(stranded);
            }
        }
        match found.next.and_then(|next| self.counts.limit(next)) {
            Some(next) => self.place = next,
            None => self.end(node),
        }
        let swept = self.sweep(fast_path).await;
        if let Some(cancelled) = &mut self.cancelled {
            Box::pin(cancelled.end_some(fast_path, &nodes)).await?;
        }
        swept
    }

    /// The live nodes and the next part of the queues. `None` if this node does not know which
    /// nodes are live.
    async fn search(&self, node: &Node) -> Result<Option<(LiveNodes, Found)>, ProviderError> {
        let Some(admin) = node.provider.as_management_capability() else { return Ok(None) };
        let Some(nodes) = live_nodes::read(node).await? else { return Ok(None) };
        let found = scan(admin, &nodes, self.place.clone(), STRANDED_CHECK_MAX).await?;
        Ok(Some((nodes, found)))
    }

    /// Publishes what the pass has found, and begins the next one.
    fn end(&mut self, node: &Node) {
        self.place = Place::START;
        std::mem::take(&mut self.counts).publish(node);
        if let Some(sweeper) = &mut self.sweeper {
            sweeper.pass_ended();
        }
    }

    /// Fails what has waited for too long.
    async fn sweep(&mut self, fast_path: &Arc<FastPath>) -> Result<(), ProviderError> {
        let Some(sweeper) = &mut self.sweeper else { return Ok(()) };
        for due in sweeper.take_due() {
            Box::pin(due.fail(fast_path, sweeper.limit)).await?;
        }
        Ok(())
    }
}

fn warn_of(stranded: &StrandedWork) {
    let StrandedWork { item, reason } = stranded;
    warn!(
        target: "duroxide::runtime",
        instance_id = item.instance_id(),
        waits_for = item.handler(),
        reason = reason.word(),
        "no live node can run this work, which waits: {reason}"
    );
}

/// How much work was found, by its kind and the reason.
struct Counts {
    by_reason: BTreeMap<(&'static str, &'static str), u64>,
    /// Turns of instances that have not started.
    starts: u64,
}

/// Every kind of work with each reason that it can have: a gauge that is not set keeps its value.
const REASONS: [(&str, &str); 8] = [
    (TURN, "replay_version"),
    (TURN, "handler"),
    (TURN, "handler_version"),
    (TURN, "no_node"),
    (TURN, "unknown"),
    (ACTIVITY, "handler"),
    (ACTIVITY, "tag"),
    (ACTIVITY, "no_node"),
];
const TURN: &str = "turn";
const ACTIVITY: &str = "activity";

impl Default for Counts {
    fn default() -> Self {
        Self { by_reason: REASONS.into_iter().map(|reason| (reason, 0)).collect(), starts: 0 }
    }
}

impl Counts {
    fn add(&mut self, stranded: &StrandedWork) {
        let kind = match &stranded.item {
            StrandedItem::Turn(turn) => {
                let is_known = stranded.reason != StrandedReason::Unknown;
                self.starts += u64::from(turn.execution_id.is_none() && is_known);
                TURN
            }
            StrandedItem::Activity(_) => ACTIVITY,
        };
        *self.by_reason.entry((kind, stranded.reason.word())).or_default() += 1;
    }

    /// Where the pass goes on: of each kind, so much is counted that more would only cost.
    fn limit(&self, next: Place) -> Option<Place> {
        let has_room = |kind| self.of_kind(kind) < STRANDED_COUNTED_MAX;
        match next {
            Place::Turns(_) if has_room(TURN) => Some(next),
            Place::Turns(_) => Some(Place::FIRST_ACTIVITY),
            Place::Tag(_) | Place::Activities { .. } => has_room(ACTIVITY).then_some(next),
        }
    }

    fn of_kind(&self, wanted: &str) -> u64 {
        let counts = self.by_reason.iter().filter(|((kind, _), _)| *kind == wanted);
        counts.map(|(_, count)| count).sum()
    }

    fn publish(self, node: &Node) {
        for ((kind, reason), count) in self.by_reason {
            node.metrics().update_stranded_work(kind, reason, count);
        }
        node.metrics().update_stranded_starts(self.starts);
    }
}

/// When the node last warned of each handler that no node has.
#[derive(Default)]
struct Warnings(HashMap<(String, &'static str), Instant>);

impl Warnings {
    /// Whether a warning of such work is due; it is then counted as written.
    fn is_due(&mut self, stranded: &StrandedWork, now: Instant) -> bool {
        // A node that does not report what it runs is no mistake of the deployment.
        if stranded.reason == StrandedReason::Unknown {
            return false;
        }
        self.0.retain(|_, written| now.duration_since(*written) < STRANDED_WARNING_INTERVAL);
        let key = (stranded.item.handler(), stranded.reason.word());
        let is_new = !self.0.contains_key(&key);
        if is_new {
            self.0.insert(key, now);
        }
        is_new
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::providers::{NeededCode, WaitingTurn};

    fn stranded(name: &str, reason: StrandedReason) -> StrandedWork {
        let code = NeededCode::of_execution(name, "1.0.0");
        let turn = WaitingTurn::new("i", 0).with_needs(Some(code), None);
        StrandedWork::new(StrandedItem::Turn(turn), reason)
    }

    #[test]
    fn one_handler_is_warned_of_once_in_an_interval() {
        let mut warnings = Warnings::default();
        let start = Instant::now();
        let missing = || StrandedReason::HandlerMissing;
        let mut due = |name, reason, after| warnings.is_due(&stranded(name, reason), start + after);
        assert!(due("Odrer", missing(), Duration::ZERO));
        assert!(!due("Odrer", missing(), Duration::ZERO));
        assert!(due("Odrer", StrandedReason::NoNode, Duration::ZERO));
        assert!(due("Order", missing(), Duration::ZERO));
        assert!(!due("Other", StrandedReason::Unknown, Duration::ZERO));
        let interval = STRANDED_WARNING_INTERVAL;
        assert!(!due("Odrer", missing(), interval - Duration::from_millis(1)));
        assert!(due("Odrer", missing(), interval));
        assert!(!due("Odrer", missing(), interval));
    }

    #[test]
    fn every_reason_is_counted_and_has_a_gauge() {
        let mut counts = Counts::default();
        counts.add(&stranded("A", StrandedReason::HandlerMissing));
        counts.add(&stranded("B", StrandedReason::HandlerMissing));
        counts.add(&stranded("C", StrandedReason::Unknown));
        assert_eq!((counts.of_kind(TURN), counts.of_kind(ACTIVITY), counts.starts), (3, 0, 2));
        assert_eq!(counts.by_reason[&(TURN, "handler")], 2);
        assert_eq!(counts.by_reason.len(), REASONS.len(), "none is without a gauge");
    }

    #[test]
    fn many_stranded_turns_do_not_hide_activities() {
        let mut counts = Counts::default();
        let within_turns = Place::Turns(Some("5".to_owned()));
        let within_activities =
            Place::Activities { tag: None, after: Some("5".to_owned()), examined: 1 };
        assert_eq!(counts.limit(within_turns.clone()), Some(within_turns.clone()));
        counts.by_reason.insert((TURN, "handler"), STRANDED_COUNTED_MAX);
        assert_eq!(counts.limit(within_turns), Some(Place::FIRST_ACTIVITY));
        for next in [Place::FIRST_ACTIVITY, within_activities.clone()] {
            assert_eq!(counts.limit(next.clone()), Some(next));
        }
        counts.by_reason.insert((ACTIVITY, "tag"), STRANDED_COUNTED_MAX);
        assert_eq!(counts.limit(within_activities), None, "the next pass begins");
    }
}
