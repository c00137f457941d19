//! A store, and the instances in it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use duroxide::Client;
use duroxide::providers::Provider;
use duroxide::providers::postgres::PostgresProvider;
use duroxide::providers::sqlite::SqliteProvider;
use duroxide::runtime::Runtime;
use tokio::task::JoinSet;

use crate::code;
use crate::place::Place;

/// How long the tour waits for what must happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Starts that are on their way at once.
const STARTS_AT_ONCE: usize = 64;

/// How many instances of each name: with the ten kinds of waiting, a child among them, 10,000.
pub(crate) const GREETINGS: usize = 6_988;
pub(crate) const ORDERS: usize = 1_001;
pub(crate) const APPROVALS: usize = 1_000;
pub(crate) const LOOPS: usize = 1_000;

/// The kinds of waiting that `why` explains: instance, orchestration, and a part of the answer.
pub(crate) const KINDS: [(&str, &str, &str); 10] = [
    ("kind-event", "Approval", "waits for event"),
    ("kind-queue", "Reader", "waits for a message of queue"),
    ("kind-timer", "Timer", "waits for timer"),
    ("kind-activity", "Sleeper", "which a worker runs"),
    ("kind-retry", "Printer", "waits for the retry"),
    ("kind-no-handler", "Untyped", "no live node has registered"),
    ("kind-no-tag", "Tagged", "serves its tag"),
    ("kind-no-code", "NoSuchOrchestration", "no live node has registered"),
    ("kind-suspended", "Approval", "waits for event"),
    ("kind-child", "Parent", "waits for child"),
];

fn bank_of(place: &Place) -> PathBuf {
    place.folder.path().join("bank-is-open")
}

/// A store of its own with a live node.
pub(crate) struct World {
    pub(crate) place: Place,
    executor: tokio::runtime::Runtime,
    store: Arc<dyn Provider>,
    node: Arc<Runtime>,
}

impl World {
    pub(crate) fn sqlite() -> Self {
        Self::open(Place::sqlite())
    }

    pub(crate) fn postgres() -> Self {
        Self::open(Place::postgres())
    }

    fn open(place: Place) -> Self {
        let executor = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let bank = bank_of(&place);
        let (store, node) = executor.block_on(async {
            let store: Arc<dyn Provider> = match &place.schema {
                None => Arc::new(SqliteProvider::new(&place.url, None).await.unwrap()),
                Some(schema) => {
                    let builder = PostgresProvider::builder(&place.url).with_schema(schema);
                    Arc::new(builder.open().await.unwrap())
                }
            };
            let node = code::node(&store, bank).await;
            (store, node)
        });
        Self { place, executor, store, node }
    }

    /// The file that opens the bank.
    pub(crate) fn bank(&self) -> PathBuf {
        bank_of(&self.place)
    }

    /// Makes all instances, and waits until each has come as far as it gets.
    pub(crate) fn fill(&self) {
        let client = Client::new(Arc::clone(&self.store));
        self.executor.block_on(async {
            let numbered = |name: &'static str, count: usize, input: &'static str| {
                (1..=count).map(move |n| (format!("{}-{n:04}", name.to_lowercase()), name, input))
            };
            let all = numbered("Greeting", GREETINGS, "Ada")
                .chain(numbered("Order", ORDERS, "book"))
                .chain(numbered("Approval", APPROVALS, ""))
                .chain(numbered("Loop", LOOPS, "3"));
            let kinds = KINDS.iter().map(|(id, name, _)| ((*id).to_owned(), *name, ""));
            let mut starts = JoinSet::new();
            for (id, name, input) in all.chain(kinds) {
                if starts.len() >= STARTS_AT_ONCE {
                    starts.join_next().await.unwrap().unwrap();
                }
                let client = client.clone();
                starts.spawn(async move {
                    client.start_orchestration(&id, name, input).await.unwrap();
                });
            }
            while let Some(started) = starts.join_next().await {
                started.unwrap();
            }
        });
    }

    /// Suspends an instance.
    pub(crate) fn suspend(&self, id: &str, reason: &str) {
        let client = Client::new(Arc::clone(&self.store));
        self.executor.block_on(client.suspend_instance(id, reason)).unwrap();
    }

    /// Closes the store.
    pub(crate) fn close(self) {
        self.executor.block_on(async {
            self.node.shutdown(Some(0)).await;
            self.store.close().await.unwrap();
        });
    }
}
