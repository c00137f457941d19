//! Fetches turns for the free slots.

use std::sync::Arc;

use tokio::time::Instant;

use super::process::{keep, process};
use super::trial;
use crate::limits::ITEMS_PER_FETCH_MAX;
use crate::providers::{ChangeScope, FetchedTurn, ProviderError, TurnFetch};
use crate::runtime::dispatchers::pacing::Pacing;
use crate::runtime::fast_path::FastPath;
use crate::runtime::slots::Slots;
use crate::runtime::turns::Turns;

/// Starts the dispatcher, unless the node takes no turns.
pub(crate) fn start(fast_path: &Arc<FastPath>) {
    let node = &fast_path.turns().node;
    if node.options.orchestration_concurrency == 0 {
        return;
    }
    // Made once: a dispatcher that restarts after a panic must know which slots are in use.
    let slots = Slots::new(node.options.orchestration_concurrency);
    node.tasks.supervise("orchestration dispatcher", {
        let fast_path = Arc::clone(fast_path);
        move || dispatch(Arc::clone(&fast_path), slots.clone())
    });
}

async fn dispatch(fast_path: Arc<FastPath>, slots: Slots) {
    let turns = fast_path.turns();
    let node = &turns.node;
    let mut pacing = Pacing::new("orchestration", node.options.dispatcher_min_poll_interval);
    while let Some(mut free) = node.tasks.unless_stopped(slots.take(ITEMS_PER_FETCH_MAX)).await {
        let polled = Instant::now();
        let changes = node.provider.watch(ChangeScope::OrchestratorQueue);
        let Some(fetched) = node.tasks.unless_stopped(fetch(turns, free.len())).await else {
            return;
        };
        match fetched {
            Ok(fetched) if fetched.is_empty() => {
                pacing.succeeded();
                drop(free);
                pacing.idle(polled, changes, &node.tasks).await;
            }
            Ok(mut fetched) => {
                pacing.succeeded();
                trial::shuffle(&mut fetched);
                node.metrics().record_orch_dispatcher_items_fetched(fetched.len() as u64);
                for turn in fetched {
                    // None is left if the provider returns more turns than requested.
                    let slot = free.pop();
                    let fast_path = Arc::clone(&fast_path);
                    // Not in the task: the executor may be too busy to start it in time.
                    let lease = keep(node, &turn);
                    node.tasks.spawn_work("turn", async move {
                        let leader = fast_path.lead(&turn.item.instance);
                        let index = slot.as_ref().map_or(0, |slot| slot.index);
                        process(&fast_path, index, lease, turn).await;
                        drop(slot);
                        if let Some(leader) = leader {
                            fast_path.follow_up(leader).await;
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

async fn fetch(turns: &Turns, turns_max: usize) -> Result<Vec<FetchedTurn>, ProviderError> {
    let options = &turns.node.options;
    let mut request = TurnFetch::new(turns_max, options.orchestrator_lock_timeout)
        .with_poll_timeout(options.dispatcher_long_poll_timeout)
        .with_filter(&turns.node.filter)
        .with_deferred_histories();
    if options.warm_cache.enabled {
        request = request.with_known(Arc::clone(&turns.warm) as _);
    }
    turns.node.provider.fetch_orchestration_items(request).await
}
