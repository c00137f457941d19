//! Ends instances for which a cancellation waits, and that no live node can run.
//!
//! 1. The store lists only instances with a waiting cancellation, so that the search costs nothing
//!    while there is none, however much work is stranded.
//! 2. The instance is held, and the live nodes are read again: one that a node can run by now is
//!    released. If several nodes hold an instance, the last one ends it.
//! 3. A lack of nodes is no mistake: while no live node runs turns, or one does not report what it
//!    runs, cancellations wait for it.
//! 4. No code of an instance runs when it is cancelled, so that it ends as on a node that has it.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use tokio::time::Instant;
use tracing::{info, warn};

use super::ended::report_end;
use super::fast_path::FastPath;
use super::live_nodes;
use crate::client::{Client, ClientError, EndCause, HeldOpen, LiveNodes};
use crate::limits::{
    CANCELLED_PASSED_OVER_MAX, CANCELLED_RETRY_INTERVAL, STRANDED_CHECK_MAX,
    STRANDED_SCAN_READS_MAX,
};
use crate::providers::{
    ListCursor, ProviderError, ProviderErrorKind, StrandedTurnQuery, WaitingTurn,
};

/// The search for such instances.
#[derive(Default)]
pub(super) struct CancelledTurns {
    /// Where it goes on.
    after: Option<ListCursor>,
    /// Instances that could not be ended, and since when.
    passed_over: HashMap<String, Instant>,
    /// Each node has an order of its own, so that two of them seldom hold the same instance.
    order: RandomState,
}

impl CancelledTurns {
    /// Ends what a limited part of the list has. After the last of the list it begins again if
    /// something has ended, for the sake of children.
    pub(super) async fn end_some(
        &mut self,
        fast_path: &Arc<FastPath>,
        nodes: &LiveNodes,
    ) -> Result<(), ProviderError> {
        let node = &fast_path.turns().node;
        let Some(admin) = node.provider.as_management_capability() else { return Ok(()) };
        let now = Instant::now();
        self.passed_over.retain(|_, since| now - *since < CANCELLED_RETRY_INTERVAL);
        let mut has_ended = false;
        for _ in 0..STRANDED_SCAN_READS_MAX {
            let mut query = StrandedTurnQuery::new(nodes.filters(), STRANDED_CHECK_MAX);
            query.after = self.after.take();
            let page = admin.list_cancelled_turns(query).await?;
            self.after = page.next;
            let mut turns: Vec<WaitingTurn> =
                page.turns.into_iter().filter(|turn| self.is_due(turn, nodes)).collect();
            turns.sort_by_cached_key(|turn| self.order.hash_one(&turn.instance_id));
            for turn in turns {
                has_ended |= Box::pin(self.end(fast_path, &turn)).await?;
            }
            if self.after.is_none() && !std::mem::take(&mut has_ended) {
                break;
            }
        }
        Ok(())
    }

    fn is_due(&self, turn: &WaitingTurn, nodes: &LiveNodes) -> bool {
        is_stranded(turn, nodes) && !self.passed_over.contains_key(&turn.instance_id)
    }

    /// Ends one instance. Returns whether it has ended by this call.
    async fn end(
        &mut self,
        fast_path: &Arc<FastPath>,
        turn: &WaitingTurn,
    ) -> Result<bool, ProviderError> {
        // A task of its own: a shutdown in between does not leave the instance held.
        let ended = tokio::spawn(hold_and_end(Arc::clone(fast_path), turn.clone())).await;
        let Ok(ended) = ended else {
            self.pass_over(turn);
            return Ok(false);
        };
        match ended {
            Ok(true) => Ok(true),
            Ok(false) => {
                self.pass_over(turn);
                Ok(false)
            }
            Err(error) => self.could_not_end(turn, error),
        }
    }

    fn could_not_end(
        &mut self,
        turn: &WaitingTurn,
        error: ClientError,
    ) -> Result<bool, ProviderError> {
        if let ClientError::Provider(error) = &error {
            if error.is_store_trouble() {
                return Err(error.clone());
            }
            // It is gone or has ended, or another node holds it.
            let is_over = matches!(
                error.kind,
                ProviderErrorKind::NotFound
                    | ProviderErrorKind::Conflict
                    | ProviderErrorKind::LostLease
            );
            if is_over {
                return Ok(false);
            }
        }
        warn!(
            target: "duroxide::runtime", instance_id = %turn.instance_id, %error,
            "could not end a cancelled instance that no live node can run; retrying later"
        );
        self.pass_over(turn);
        Ok(false)
    }

    /// Leaves an instance alone for a while.
    fn pass_over(&mut self, turn: &WaitingTurn) {
        if self.passed_over.len() < CANCELLED_PASSED_OVER_MAX {
            self.passed_over.insert(turn.instance_id.clone(), Instant::now());
        }
    }
}

fn is_stranded(turn: &WaitingTurn, nodes: &LiveNodes) -> bool {
    nodes.why_turn(turn).is_some_and(|reason| reason.is_mistake())
}

/// Ends one instance; false if it is left to others.
async fn hold_and_end(fast_path: Arc<FastPath>, turn: WaitingTurn) -> Result<bool, ClientError> {
    let node = &fast_path.turns().node;
    let Some(code) = &turn.code else { return Ok(false) };
    let client = Client::new(Arc::clone(&node.provider));
    let held = client.hold_open(&turn.instance_id).await?;
    let is_due = match live_nodes::read(node).await {
        Ok(nodes) => nodes.is_some_and(|nodes| is_stranded(&turn, &nodes)),
        Err(error) => {
            client.release_held(&held).await;
            return Err(error.into());
        }
    };
    let Some(reason) = reason(&held, &turn).filter(|_| is_due) else {
        client.release_held(&held).await;
        return Ok(false);
    };
    let cause = EndCause::Cancelled(reason);
    // Clients that wait see the end after it is counted.
    let _report = node.reports.announce(&turn.instance_id);
    let ended = client.end_for(&held, &cause).await?;
    info!(
        target: "duroxide::runtime",
        instance_id = %turn.instance_id, waits_for = %code,
        "no live node can run an instance that is cancelled; it ended without its code"
    );
    report_end(&fast_path, code, &ended, &cause);
    Ok(true)
}

/// The reason of the cancellation, if the turn is still the one that was found.
fn reason(held: &HeldOpen, turn: &WaitingTurn) -> Option<String> {
    held.awaits(turn).then(|| held.cancellation())?
}
