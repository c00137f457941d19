//! Fails turns that no live node could run for too long.
//!
//! 1. The turns are leased by a fetch that asks for exactly what they need, as a node that could
//!    run them would. So a turn that a node holds is left alone, and of two sweepers one gets it.
//! 2. The live nodes are read again under the lease. A node that starts later finds the turn leased
//!    or failed; one that could run it by now gets it back.
//! 3. The instance is held in place of the lease, and ends as by an operator's call: its children
//!    and its activities are cancelled, and its parent gets the failure.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use semver::Version;
use tracing::warn;

use super::process::keep;
use crate::client::{Client, EndCause, StrandedItem, StrandedWork};
use crate::model::ErrorDetails;
use crate::providers::{
    DispatcherCapabilityFilter, FetchFilter, FetchedTurn, NeededCode, ProviderError,
    RegisteredOrchestrations, SemverRange, TurnFetch, WaitingTurn,
};
use crate::runtime::ended::report_end;
use crate::runtime::fast_path::FastPath;
use crate::runtime::lease::Lease;
use crate::runtime::live_nodes;
use crate::runtime::node::Node;
use crate::runtime::storage_retry::{log_unreleased, retry_while_leased};

/// Turns that all need the same, and that no live node could run for too long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DueTurns {
    pub(crate) code: NeededCode,
    pub(crate) pin: Option<Version>,
    pub(crate) instances: BTreeSet<String>,
}

impl DueTurns {
    /// What a node that could run exactly these turns would fetch.
    fn filter(&self) -> FetchFilter {
        // An execution without a pin fits every range.
        let pin = self.pin.clone().unwrap_or(Version::new(0, 0, 0));
        let supported_duroxide_versions = vec![SemverRange::new(pin.clone(), pin)];
        FetchFilter::everything()
            .with_orchestrations(RegisteredOrchestrations::only(&self.code))
            .with_replays(DispatcherCapabilityFilter { supported_duroxide_versions })
    }

    fn waiting(&self) -> WaitingTurn {
        WaitingTurn::new("", 0).with_needs(Some(self.code.clone()), self.pin.clone())
    }
}

/// Fails these turns as far as they still wait and no live node can run them.
pub(crate) async fn fail_stranded(
    fast_path: &Arc<FastPath>,
    due: &DueTurns,
    limit: Duration,
) -> Result<(), ProviderError> {
    let node = &fast_path.turns().node;
    let filter = due.filter();
    let request = TurnFetch::new(due.instances.len(), node.options.orchestrator_lock_timeout)
        .with_filter(&filter)
        .with_deferred_histories();
    let fetched = node.provider.fetch_orchestration_items(request).await?;
    if fetched.is_empty() {
        return Ok(());
    }
    let leased: Vec<(Lease, FetchedTurn)> =
        fetched.into_iter().map(|turn| (keep(node, &turn), turn)).collect();
    let reason = live_nodes::read(node).await.map(|nodes| nodes?.why_turn(&due.waiting()));
    let reason = reason.unwrap_or_else(|error| {
        warn!(
            target: "duroxide::runtime", %error,
            "could not check which nodes are live; stranded turns wait"
        );
        None
    });
    for (lease, turn) in leased {
        let is_due = due.instances.contains(&turn.item.instance);
        match reason.clone().filter(|reason| is_due && reason.is_mistake()) {
            Some(reason) => {
                let item = StrandedItem::Turn(due.waiting());
                let details = StrandedWork::new(item, reason).failure(limit);
                Box::pin(fail(fast_path, &due.code, (lease, turn), details)).await;
            }
            None => release(node, &lease, &turn).await,
        }
    }
    Ok(())
}

/// Fails one of the turns. The lease ends with the hold.
async fn fail(
    fast_path: &Arc<FastPath>,
    code: &NeededCode,
    (lease, turn): (Lease, FetchedTurn),
    details: ErrorDetails,
) {
    let node = &fast_path.turns().node;
    let instance = &turn.item.instance;
    let client = Client::new(Arc::clone(&node.provider));
    let held = match client.hold_open(instance).await {
        Ok(held) => held,
        Err(error) => {
            warn!(
                target: "duroxide::runtime", instance_id = %instance, %error,
                "could not hold a stranded instance; releasing its turn"
            );
            return release(node, &lease, &turn).await;
        }
    };
    drop(lease);
    let cause = EndCause::Stranded(details);
    let _report = node.reports.announce(instance);
    match client.end_for(&held, &cause).await {
        Ok(ended) => {
            report_end(fast_path, code, &ended, &cause);
            node.metrics().record_stranded_failed("turn");
        }
        Err(error) => warn!(
            target: "duroxide::runtime", instance_id = %instance, %error,
            "could not fail a stranded instance; retrying at the next search"
        ),
    }
}

async fn release(node: &Node, lease: &Lease, turn: &FetchedTurn) {
    let released = retry_while_leased("abandon_orchestration_item", lease, || {
        node.provider.abandon_orchestration_item(&turn.lock_token, None, true)
    });
    log_unreleased("turn", released.await);
}
