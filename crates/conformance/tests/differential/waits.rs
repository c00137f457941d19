//! Both providers wake waiters for the same reasons, which random steps cannot test.

use std::sync::Arc;
use std::time::Duration;

use duroxide_conformance::reference::MemoryProvider;
use duroxide_core::providers::{ChangeScope, ManualClock, Provider, TagFilter, TurnFetch};
use duroxide_sqlite::SqliteProvider;

use crate::build::{self, Position};
use crate::op::{Activity, Message, Turn};

const START_MS: u64 = 1_700_000_000_000;
const LEASE: Duration = Duration::from_secs(5);
const POLL_TIMEOUT: Duration = Duration::from_secs(60);
const NOW: Duration = Duration::ZERO;

async fn providers() -> [(Arc<dyn Provider>, Arc<ManualClock>); 2] {
    let clocks = [0, 1].map(|_| Arc::new(ManualClock::new(START_MS)));
    let memory = MemoryProvider::new(Arc::<ManualClock>::clone(&clocks[0]));
    let builder =
        SqliteProvider::builder(":memory:").with_clock(Arc::<ManualClock>::clone(&clocks[1]));
    let sqlite = builder.open().await.unwrap();
    let [first, second] = clocks;
    [(Arc::new(memory), first), (Arc::new(sqlite), second)]
}

async fn send(provider: &dyn Provider, message: Message, delay: Option<Duration>) {
    let item = build::message(&message, START_MS);
    provider.enqueue_for_orchestrator(item, delay).await.unwrap();
}

fn start() -> Message {
    Message::Start { instance: 0, version: true }
}

fn work() -> Activity {
    Activity { instance: 0, id: 1, session: None, tag: None, handler: 0 }
}

/// Waits for a turn while `concurrent` runs.
async fn turn_while(provider: &dyn Provider, concurrent: impl Future<Output = ()>) -> String {
    let fetch = provider.fetch_orchestration_item(LEASE, POLL_TIMEOUT, None);
    let (turn, ()) = tokio::join!(fetch, async {
        tokio::task::yield_now().await;
        concurrent.await;
    });
    turn.unwrap().expect("a turn").1
}

#[tokio::test]
async fn a_message_wakes_a_fetch_of_turns() {
    for (provider, _) in providers().await {
        turn_while(&*provider, send(&*provider, start(), None)).await;
    }
}

#[tokio::test]
async fn a_hidden_message_wakes_a_fetch_when_it_is_due() {
    for (provider, clock) in providers().await {
        send(&*provider, start(), Some(LEASE)).await;
        turn_while(&*provider, async { clock.advance(LEASE) }).await;
    }
}

#[tokio::test]
async fn an_expired_lease_and_an_abandon_wake_a_fetch() {
    for (provider, clock) in providers().await {
        send(&*provider, start(), None).await;
        let first = provider.fetch_orchestration_item(LEASE, NOW, None).await.unwrap();
        assert!(first.is_some());
        let token = turn_while(&*provider, async { clock.advance(LEASE) }).await;
        let abandon = async {
            provider.abandon_orchestration_item(&token, None, false).await.unwrap();
        };
        turn_while(&*provider, abandon).await;
    }
}

#[tokio::test]
async fn a_commit_wakes_a_fetch_for_messages_that_arrived_under_the_lease() {
    for (provider, _) in providers().await {
        send(&*provider, start(), None).await;
        let request = TurnFetch::new(9, LEASE).with_poll_timeout(NOW);
        let turn = provider.fetch_orchestration_items(request).await.unwrap().remove(0);
        send(&*provider, Message::Signal(0), None).await;
        let at = Position { instance: "a", execution_id: 1, first_event: 1 };
        let commit = build::commit(&Turn::named(), at, START_MS);
        let commit = commit.with_lock_token(turn.lock_token);
        turn_while(&*provider, async {
            provider.commit_turn(Arc::new(commit)).await.unwrap();
        })
        .await;
    }
}

#[tokio::test]
async fn an_activity_wakes_a_fetch_of_work() {
    for (provider, _) in providers().await {
        let filter = TagFilter::default();
        let fetch = provider.fetch_work_item(LEASE, POLL_TIMEOUT, None, &filter);
        let (fetched, sent) = tokio::join!(fetch, async {
            tokio::task::yield_now().await;
            provider.enqueue_for_worker(build::activity(&work())).await
        });
        sent.unwrap();
        assert!(fetched.unwrap().is_some());
    }
}

#[tokio::test]
async fn a_wait_ends_at_its_poll_timeout() {
    for (provider, _) in providers().await {
        let limit = Duration::from_millis(20);
        let start = tokio::time::Instant::now();
        let turn = provider.fetch_orchestration_item(LEASE, limit, None).await.unwrap();
        assert!(turn.is_none());
        assert!(start.elapsed() >= limit);
    }
}

#[tokio::test]
async fn a_watch_sees_a_change_of_its_instance() {
    for (provider, _) in providers().await {
        let mut watch =
            provider.watch(ChangeScope::Instance("a")).expect("both providers publish changes");
        let at = Position { instance: "a", execution_id: 1, first_event: 1 };
        let events = build::events(&[crate::op::Fact::Started { carried: 0 }], at);
        provider.append_with_execution("a", 1, events).await.unwrap();
        tokio::time::timeout(POLL_TIMEOUT, watch.changed()).await.unwrap();
    }
}
