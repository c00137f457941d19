//! In any order of operations, each message is committed exactly once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use duroxide_core::providers::{FetchedTurn, ManualClock, Provider, WorkItem};
use duroxide_sqlite::SqliteProvider;
use proptest::prelude::*;

use crate::support::*;

#[derive(Debug, Clone)]
enum Step {
    Send { instance: usize, delay_ms: u64 },
    Fetch,
    Commit { held: usize },
    GiveBack { held: usize, delay_ms: Option<u64>, ignore_attempt: bool },
    Forget { held: usize },
    DropFetch,
    Advance { ms: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..3_usize, prop_oneof![Just(0), 1..20_000_u64])
            .prop_map(|(instance, delay_ms)| Step::Send { instance, delay_ms }),
        4 => Just(Step::Fetch),
        3 => (0..4_usize).prop_map(|held| Step::Commit { held }),
        2 => (0..4_usize, prop::option::of(0..9000_u64), any::<bool>()).prop_map(
            |(held, delay_ms, ignore_attempt)| Step::GiveBack { held, delay_ms, ignore_attempt }
        ),
        1 => (0..4_usize).prop_map(|held| Step::Forget { held }),
        1 => Just(Step::DropFetch),
        2 => (1..7000_u64).prop_map(|ms| Step::Advance { ms }),
    ]
}

struct World {
    provider: SqliteProvider,
    clock: Arc<ManualClock>,
    held: Vec<FetchedTurn>,
    sent: u64,
    committed: BTreeMap<u64, u32>,
    next_event: BTreeMap<String, u64>,
}

impl World {
    async fn new() -> Self {
        let clock = Arc::new(ManualClock::new(BEGIN_MS));
        let builder = SqliteProvider::builder(":memory:");
        let provider = builder.with_clock(Arc::<ManualClock>::clone(&clock)).open().await.unwrap();
        for instance in 0..3 {
            create(&provider, &instance.to_string()).await;
        }
        let (held, committed, next_event) = Default::default();
        Self { provider, clock, held, sent: 0, committed, next_event }
    }

    async fn apply(&mut self, step: Step) {
        match step {
            Step::Send { instance, delay_ms } => {
                let item = signal(&instance.to_string(), &self.sent.to_string());
                self.sent += 1;
                let delay = Some(Duration::from_millis(delay_ms));
                self.provider.enqueue_for_orchestrator(item, delay).await.unwrap();
            }
            Step::Fetch => {
                let turns = self.provider.fetch_orchestration_items(wish(2)).await.unwrap();
                self.held.extend(turns);
            }
            Step::Commit { held } if held < self.held.len() => self.commit(held).await,
            Step::GiveBack { held, delay_ms, ignore_attempt } if held < self.held.len() => {
                let turn = self.held.remove(held);
                let delay = delay_ms.map(Duration::from_millis);
                let token = &turn.lock_token;
                // A failure because of a lost lease is fine too.
                drop(self.provider.abandon_orchestration_item(token, delay, ignore_attempt).await);
            }
            Step::Forget { held } if held < self.held.len() => drop(self.held.remove(held)),
            Step::Commit { .. } | Step::GiveBack { .. } | Step::Forget { .. } => {}
            Step::DropFetch => {
                let fetch = self.provider.fetch_orchestration_items(wish(1));
                tokio::select! {
                    biased;
                    turns = fetch => self.held.extend(turns.unwrap()),
                    () = tokio::task::yield_now() => {}
                }
            }
            Step::Advance { ms } => self.clock.advance(Duration::from_millis(ms)),
        }
    }

    async fn commit(&mut self, held: usize) {
        let turn = self.held.remove(held);
        let instance = turn.item.instance.clone();
        let next = self.next_event.entry(instance.clone()).or_insert(2);
        let commit = commit(&turn.lock_token, vec![heard(&instance, *next)]);
        if self.provider.store_turn(commit).await.is_err() {
            return;
        }
        *next += 1;
        for message in turn.item.messages {
            let WorkItem::ExternalRaised { data, .. } = message else {
                panic!("only signals are sent")
            };
            *self.committed.entry(data.parse().unwrap()).or_default() += 1;
        }
    }

    /// Lets every lease and delay expire and commits what is left.
    async fn drain(&mut self) {
        self.clock.advance(Duration::from_secs(3600));
        while let Some(turn) = try_turn(&self.provider).await {
            self.held.push(turn);
            self.commit(self.held.len() - 1).await;
        }
    }
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]
    #[test]
    fn each_message_is_committed_exactly_once(steps in prop::collection::vec(step(), 1..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let (sent, committed) = runtime.block_on(async {
            let mut world = World::new().await;
            for step in steps {
                world.apply(step).await;
            }
            world.drain().await;
            (world.sent, world.committed)
        });
        let once: BTreeMap<u64, u32> = (0..sent).map(|number| (number, 1)).collect();
        prop_assert_eq!(committed, once);
    }
}
