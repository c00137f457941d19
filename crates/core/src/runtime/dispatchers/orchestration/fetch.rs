//! Fetches turns for the free slots.

use std::sync::Arc;

use tokio::time::Instant;

use super::direct::{go_on, lead};
use super::process::process;
use crate::limits::ITEMS_PER_FETCH_MAX;
use crate::providers::{ChangeScope, FetchedTurn, KnownHistory, ProviderError, TurnFetch};
use crate::runtime::dispatchers::pacing::Pacing;
use crate::runtime::node::Node;
use crate::runtime::slots::Slots;

/// Starts the dispatcher, unless the node takes no turns.
pub(crate) fn start(node: &Arc<Node>) {
    if node.options.orchestration_concurrency == 0 {
        return;
    }
    // Made once: a dispatcher that is begun again must not forget what is taken.
    let slots = Slots::new(node.options.orchestration_concurrency);
    node.tasks.supervise("orchestration dispatcher", {
        let node = Arc::clone(node);
        move || dispatch(Arc::clone(&node), slots.clone())
    });
}

async fn dispatch(node: Arc<Node>, slots: Slots) {
    let mut pacing = Pacing::new("orchestration", node.options.dispatcher_min_poll_interval);
    while let Some(mut free) = node.tasks.unless_stopped(slots.take(ITEMS_PER_FETCH_MAX)).await {
        let asked = Instant::now();
        let changes = node.provider.watch(ChangeScope::OrchestratorQueue);
        let Some(fetched) = node.tasks.unless_stopped(fetch(&node, free.len())).await else {
            return;
        };
        match fetched {
            Ok(turns) if turns.is_empty() => {
                pacing.succeeded();
                drop(free);
                pacing.idle(asked, changes, &node.tasks).await;
            }
            Ok(turns) => {
                pacing.succeeded();
                node.metrics().record_orch_dispatcher_items_fetched(turns.len() as u64);
                for turn in turns {
                    // A provider that returns more than was asked for makes us run over the number.
                    let slot = free.pop();
                    let node = Arc::clone(&node);
                    let tasks = node.tasks.clone();
                    tasks.spawn_work("turn", async move {
                        let leading = lead(&node, &turn.item.instance);
                        process(&node, slot.as_ref().map_or(0, |slot| slot.index), turn).await;
                        drop(slot);
                        if let Some(leading) = leading {
                            go_on(&node, leading).await;
                        }
                    });
                }
            }
            Err(error) => {
                drop(free);
                pacing.failed(&error, &node.tasks).await;
            }
        }
    }
}

async fn fetch(node: &Node, turns_max: usize) -> Result<Vec<FetchedTurn>, ProviderError> {
    let known: Arc<dyn KnownHistory> = Arc::clone(&node.warm) as _;
    let request = TurnFetch {
        turns_max,
        lock_timeout: node.options.orchestrator_lock_timeout,
        poll_timeout: node.options.dispatcher_long_poll_timeout,
        filter: Some(&node.capabilities),
        known: node.options.warm_cache.enabled.then_some(known),
    };
    node.provider.fetch_orchestration_items(request).await
}
