//! Direct turns that race with each other and with fetches.

use std::sync::Arc;
use std::time::Duration;

use duroxide_core::providers::{
    CommittedTurn, DirectTurn, OrchestrationItem, Provider, ProviderError,
};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::ProviderFactory;
use crate::limits::RETRIES_MAX;
use crate::support::{Must, Store, Turn, activity, commit, heard, signal};

const CALLERS: usize = 8;
const ROUNDS: u64 = 20;

/// Commits a direct turn and retries after a transient error.
async fn commit_with_retries(
    provider: &dyn Provider,
    turn: &Arc<DirectTurn>,
) -> Option<CommittedTurn> {
    for _ in 0..RETRIES_MAX {
        match provider.commit_direct_turn(Arc::clone(turn)).await {
            Ok(committed) => return committed,
            Err(error) => assert!(error.is_retryable(), "a direct turn: {error}"),
        }
    }
    panic!("a direct turn failed {RETRIES_MAX} times in a row");
}

/// Of many direct turns from the same mark exactly one commits, in every round. They complete
/// different activities, so that only the mark can decide.
pub async fn exactly_one_of_many_direct_turns_commits<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let mut waiting = store.waiting_for("a", vec![]).await;
    for round in 1..=5 {
        let barrier = Arc::new(Barrier::new(CALLERS));
        let mut callers = JoinSet::new();
        for caller in 0..CALLERS {
            let id = round * 100 + caller as u64;
            store.send_work(activity("a", id)).await;
            let work = store.work().await;
            let mut turn = waiting.turn(vec![waiting.next()]);
            turn.finished_work = vec![work.token.clone()];
            let (turn, provider) = (Arc::new(turn), Arc::clone(&store.provider));
            let barrier = Arc::clone(&barrier);
            callers.spawn(async move {
                barrier.wait().await;
                (work.token, commit_with_retries(&*provider, &turn).await.is_some())
            });
        }
        let results = callers.join_all().await;
        let winners = results.iter().filter(|(_, commits)| *commits).count();
        assert_eq!(winners, 1, "exactly one continues the stored history, round {round}");
        for (token, commits) in results {
            let held = store.provider.ack_work_item(&token, None).await;
            assert_eq!(held.is_err(), commits, "only the winner has completed its activity");
        }
        waiting = waiting.moved(1, vec![]);
        assert_eq!(store.history("a").await.len() as u64, round + 1);
    }
    store.no_turn("no message was enqueued").await;
}

/// When a direct turn races with a fetch of the same instance, the second one sees the first:
/// either the fetched turn holds the event of the direct turn, or the direct turn is refused.
pub async fn a_direct_turn_and_a_fetch_exclude_each_other<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    let mut waiting = store.waiting_for("a", vec![]).await;
    for round in 0..ROUNDS {
        store.send_work(activity("a", 1000 + round)).await;
        let work = store.work().await;
        let mut turn = waiting.turn(vec![waiting.next()]);
        turn.finished_work = vec![work.token.clone()];
        let barrier = Arc::new(Barrier::new(2));
        let direct = tokio::spawn({
            let (provider, barrier) = (Arc::clone(&store.provider), Arc::clone(&barrier));
            async move {
                barrier.wait().await;
                commit_with_retries(&*provider, &Arc::new(turn)).await.is_some()
            }
        });
        let fetched = tokio::spawn({
            let (provider, lease) = (Arc::clone(&store.provider), store.lease());
            async move {
                barrier.wait().await;
                let sent = provider.enqueue_for_orchestrator(signal("a", "next"), None).await;
                sent.must("enqueueing a message");
                fetch_with_retries(&*provider, lease).await.must("fetching a turn")
            }
        });
        let commits = direct.await.expect("a direct turn must not panic");
        let (item, token) = fetched.await.expect("a fetch must not panic");
        let seen = item.history.last().map_or(0, |event| event.event_id);
        let end = waiting.mark.event_id + u64::from(commits);
        assert_eq!(seen, end, "committed: {commits}; a fetched turn starts where the history ends");
        let held = store.provider.ack_work_item(&work.token, None).await;
        assert_eq!(held.is_err(), commits, "only a committed turn completes its activity");
        let turn = Turn { item, token, attempt: 1 };
        let next = commit(&turn, vec![heard("a", 1, end + 1)]);
        store.ack(next).await.must("the commit of the fetched turn");
        waiting = waiting.moved(u64::from(commits) + 1, vec![]);
    }
    assert_eq!(store.history("a").await.len() as u64, waiting.mark.event_id);
}

/// How long one of several fetches waits.
const POLL_TIMEOUT: Duration = Duration::from_millis(100);

async fn fetch_with_retries(
    provider: &dyn Provider,
    lease: Duration,
) -> Result<(OrchestrationItem, String), ProviderError> {
    for _ in 0..RETRIES_MAX {
        // While the direct turn is committed, a store may pass over the instance: wait for the end.
        match provider.fetch_orchestration_item(lease, POLL_TIMEOUT, None).await {
            Ok(Some((item, token, _))) => return Ok((item, token)),
            Ok(None) => tokio::task::yield_now().await,
            Err(error) if error.is_retryable() => {}
            Err(error) => return Err(error),
        }
    }
    panic!("the message that was sent cannot be fetched");
}
