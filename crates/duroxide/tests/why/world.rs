//! A store whose clock only the test moves, and nodes on it.

use std::sync::Arc;
use std::time::Duration;

use duroxide::client::Why;
use duroxide::providers::{ManualClock, Provider};
use duroxide::runtime::registry::{
    ActivityRegistry, ActivityRegistryBuilder, OrchestrationRegistry, OrchestrationRegistryBuilder,
};
use duroxide::runtime::{Runtime, RuntimeOptions, test_hooks};
use duroxide::{Client, OrchestrationContext, current_build_version};

/// How long a test waits for the expected answer.
const TIMEOUT: Duration = Duration::from_secs(20);

/// 2023-11-14 22:13:20Z.
const NOW_MS: u64 = 1_700_000_000_000;

/// Makes a test of each case for every store; a case is an `async fn` that gets its world.
macro_rules! on_every_store {
    ($($case:ident),+ $(,)?) => {
        $(mod $case {
            #[cfg(feature = "sqlite")]
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn on_sqlite() {
                super::$case(crate::world::World::sqlite().await).await;
            }

            #[cfg(feature = "postgres")]
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn on_postgres() {
                super::$case(crate::world::World::postgres(stringify!($case)).await).await;
            }
        })+
    };
}

/// A store with a clock and a client.
pub(crate) struct World {
    pub(crate) store: Arc<dyn Provider>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) client: Client,
}

impl World {
    #[cfg(feature = "sqlite")]
    pub(crate) async fn sqlite() -> Self {
        use duroxide::providers::sqlite::SqliteProvider;
        let clock = Arc::new(ManualClock::new(NOW_MS));
        let builder = SqliteProvider::builder(":memory:").with_clock(Arc::clone(&clock) as _);
        Self::of(Arc::new(builder.open().await.unwrap()), clock)
    }

    /// A schema of its own on the throw-away server of this process.
    #[cfg(feature = "postgres")]
    pub(crate) async fn postgres(case: &str) -> Self {
        use duroxide::providers::postgres::PostgresProvider;
        let url = duroxide_pg_server::shared_url().unwrap();
        let schema = format!("why{}_{case}", std::process::id());
        let schema = schema.get(..schema.len().min(60)).unwrap();
        let clock = Arc::new(ManualClock::new(NOW_MS));
        let builder =
            PostgresProvider::builder(&url)
                .with_schema(schema)
                .with_clock(Arc::<ManualClock>::clone(&clock));
        Self::of(Arc::new(builder.open().await.unwrap()), clock)
    }

    fn of(store: Arc<dyn Provider>, clock: Arc<ManualClock>) -> Self {
        // Then this process cannot decode what later versions write.
        test_hooks::act_as_version(&current_build_version().to_string());
        Self { client: Client::new(Arc::clone(&store)), store, clock }
    }

    /// Starts a node.
    pub(crate) async fn node(
        &self,
        options: RuntimeOptions,
        orchestrations: OrchestrationRegistryBuilder,
        activities: ActivityRegistryBuilder,
    ) -> Arc<Runtime> {
        Runtime::start_with_options(
            Arc::clone(&self.store),
            activities.build_result().unwrap(),
            orchestrations.build_result().unwrap(),
            options,
        )
        .await
    }

    pub(crate) async fn start(&self, instance: &str, orchestration: &str) {
        self.client.start_orchestration(instance, orchestration, "").await.unwrap();
    }

    /// Waits until the answer meets a condition.
    pub(crate) async fn until(&self, instance: &str, condition: impl Fn(&Why) -> bool) -> Why {
        let waiting = async {
            loop {
                match self.client.why(instance).await {
                    Ok(why) if condition(&why) => return why,
                    _not_yet => tokio::time::sleep(Duration::from_millis(2)).await,
                }
            }
        };
        tokio::time::timeout(TIMEOUT, waiting).await.expect("the instance gets there")
    }

    /// Waits until the answer has this text: nodes need a moment to get there.
    pub(crate) async fn expect(&self, instance: &str, expected: &str) -> Why {
        let expected = expected.trim();
        let mut text = String::new();
        let waiting = async {
            loop {
                let why = self.client.why(instance).await.unwrap();
                text = why.to_string();
                if text == expected {
                    return why;
                }
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        match tokio::time::timeout(TIMEOUT, waiting).await {
            Ok(why) => why,
            Err(_) => panic!("the answer is\n{text}\ninstead of\n{expected}"),
        }
    }
}

pub(crate) fn orchestrations() -> OrchestrationRegistryBuilder {
    OrchestrationRegistry::builder()
}

pub(crate) fn activities() -> ActivityRegistryBuilder {
    ActivityRegistry::builder()
}

/// A node that runs turns and no activities.
pub(crate) fn only_turns() -> RuntimeOptions {
    RuntimeOptions { worker_concurrency: 0, ..RuntimeOptions::default() }
}

/// Code that waits for the event `Approval`.
pub(crate) fn approval() -> OrchestrationRegistryBuilder {
    orchestrations().register("Order", |ctx: OrchestrationContext, _: String| async move {
        Ok(ctx.schedule_wait("Approval").await)
    })
}
