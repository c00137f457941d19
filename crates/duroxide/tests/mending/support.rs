//! Stores, nodes, and activities that fail until a test mends them.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use duroxide::client::{Client, MendOptions, MendPlan};
use duroxide::providers::{ChangeScope, Provider, ProviderErrorKind};
use duroxide::runtime::registry::{ActivityRegistry, OrchestrationRegistryBuilder};
use duroxide::runtime::{OrchestrationRegistry, Runtime, RuntimeOptions};
use duroxide::{ActivityContext, ClientError, Event, OrchestrationStatus};
use tokio::sync::watch;

pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);

/// Makes a test of each case for every store; a case is an `async fn` that gets its store.
macro_rules! on_every_store {
    ($($case:ident),+ $(,)?) => {
        $(mod $case {
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn on_sqlite() {
                super::$case(crate::support::sqlite().await).await;
            }

            #[cfg(feature = "postgres")]
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn on_postgres() {
                super::$case(crate::support::postgres(stringify!($case)).await).await;
            }
        })+
    };
}

pub(crate) type Store = Arc<dyn Provider>;

pub(crate) async fn sqlite() -> Store {
    use duroxide::providers::sqlite::SqliteProvider;
    Arc::new(SqliteProvider::new_in_memory().await.unwrap())
}

#[cfg(feature = "postgres")]
pub(crate) async fn postgres(case: &str) -> Store {
    use duroxide::providers::postgres::PostgresProvider;
    let url = duroxide_pg_server::shared_url().unwrap();
    let schema: String = format!("m{}_{case}", std::process::id()).chars().take(60).collect();
    Arc::new(PostgresProvider::new_with_schema(&url, &schema).await.unwrap())
}

/// Counts the runs of activities, makes them fail, and holds them.
#[derive(Clone, Default)]
pub(crate) struct Workshop {
    inner: Arc<Inner>,
}

struct Inner {
    runs: Mutex<BTreeMap<String, usize>>,
    broken: Mutex<BTreeMap<String, String>>,
    /// Whether `hold` may end.
    released: watch::Sender<bool>,
}

impl Default for Inner {
    fn default() -> Self {
        let released = watch::Sender::new(false);
        Self { runs: Mutex::default(), broken: Mutex::default(), released }
    }
}

impl Workshop {
    /// Activities with this input fail with this text from now on.
    pub(crate) fn break_input(&self, input: &str, text: &str) {
        self.inner.broken.lock().unwrap().insert(input.to_owned(), text.to_owned());
    }

    pub(crate) fn repair(&self) {
        self.inner.broken.lock().unwrap().clear();
    }

    /// How often an activity with this input ran.
    pub(crate) fn runs(&self, input: &str) -> usize {
        self.inner.runs.lock().unwrap().get(input).copied().unwrap_or(0)
    }

    /// Lets all runs of `hold` end, those that begin later too.
    pub(crate) fn release(&self) {
        self.inner.released.send_replace(true);
    }

    fn note(&self, input: &str) -> Option<String> {
        *self.inner.runs.lock().unwrap().entry(input.to_owned()).or_default() += 1;
        self.inner.broken.lock().unwrap().get(input).cloned()
    }

    /// `work` echoes its input or fails; `hold` also waits until it is released.
    pub(crate) fn activities(&self) -> ActivityRegistry {
        let (work, hold) = (self.clone(), self.clone());
        ActivityRegistry::builder()
            .register("work", move |_: ActivityContext, input: String| {
                let failure = work.note(&input);
                async move { failure.map_or(Ok(format!("{input}!")), Err) }
            })
            .register("hold", move |_: ActivityContext, input: String| {
                let (failure, shop) = (hold.note(&input), hold.clone());
                async move {
                    let mut released = shop.inner.released.subscribe();
                    released.wait_for(|released| *released).await.unwrap();
                    failure.map_or(Ok(format!("{input}!")), Err)
                }
            })
            .build()
    }
}

/// A node on a store, and a client of it.
pub(crate) struct Node {
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) client: Client,
    pub(crate) store: Store,
}

impl Node {
    pub(crate) async fn start(
        store: &Store,
        shop: &Workshop,
        orchestrations: OrchestrationRegistryBuilder,
    ) -> Self {
        Self::with(store, shop, orchestrations, RuntimeOptions::default()).await
    }

    pub(crate) async fn with(
        store: &Store,
        shop: &Workshop,
        orchestrations: OrchestrationRegistryBuilder,
        options: RuntimeOptions,
    ) -> Self {
        let orchestrations = orchestrations.build();
        let node = Arc::clone(store);
        let runtime =
            Runtime::start_with_options(node, shop.activities(), orchestrations, options).await;
        Self { runtime, client: Client::new(Arc::clone(store)), store: Arc::clone(store) }
    }

    pub(crate) async fn start_instance(&self, instance: &str, name: &str, input: &str) {
        self.client.start_orchestration(instance, name, input).await.unwrap();
    }

    pub(crate) async fn output(&self, instance: &str) -> String {
        match self.client.wait_for_orchestration(instance, TIMEOUT).await {
            Ok(OrchestrationStatus::Completed { output, .. }) => output,
            other => {
                panic!("{instance} did not complete: {other:?} {:?}", self.kinds(instance).await)
            }
        }
    }

    pub(crate) async fn failure(&self, instance: &str) -> String {
        match self.client.wait_for_orchestration(instance, TIMEOUT).await {
            Ok(OrchestrationStatus::Failed { details, .. }) => details.display_message(),
            other => panic!("{instance} did not fail: {other:?} {:?}", self.kinds(instance).await),
        }
    }

    pub(crate) async fn history(&self, instance: &str) -> Vec<Event> {
        self.store.read(instance).await.unwrap()
    }

    async fn kinds(&self, instance: &str) -> Vec<(u64, &'static str)> {
        let history = self.history(instance).await;
        history.iter().map(|event| (event.event_id, event.kind.type_tag())).collect()
    }

    /// Waits until the latest history meets a condition.
    pub(crate) async fn until(&self, instance: &str, condition: impl Fn(&[Event]) -> bool) {
        let mut changes = self.store.watch(ChangeScope::Instance(instance)).unwrap();
        let waiting = async {
            while !condition(&self.history(instance).await) {
                changes.changed().await;
            }
        };
        if tokio::time::timeout(TIMEOUT, waiting).await.is_err() {
            panic!("{instance} timed out with {:?}", self.kinds(instance).await);
        }
    }

    /// Waits until an event of this kind is stored.
    pub(crate) async fn until_event(&self, instance: &str, kind: &str) {
        self.until(instance, |history| event_of(history, kind).is_some()).await;
    }

    pub(crate) async fn retry(&self, instance: &str) -> MendPlan {
        let planned = self.client.plan_retry(instance, &options()).await.unwrap();
        let done = self.client.retry_instance(instance, &options()).await.unwrap();
        assert_eq!(outline(&planned), outline(&done), "the dry run says what is done");
        done
    }

    pub(crate) async fn execution(&self, instance: &str) -> u64 {
        self.client.get_instance_info(instance).await.unwrap().current_execution_id
    }

    pub(crate) async fn stop(self) {
        self.runtime.shutdown(None).await;
    }
}

/// What does not depend on the time of the call.
pub(crate) fn outline(plan: &MendPlan) -> String {
    plan.to_string()
}

pub(crate) fn options() -> MendOptions {
    MendOptions::default().with_reason("tested")
}

pub(crate) fn orchestrations() -> OrchestrationRegistryBuilder {
    OrchestrationRegistry::builder()
}

/// The first event of a kind.
pub(crate) fn event_of<'a>(history: &'a [Event], kind: &str) -> Option<&'a Event> {
    history.iter().find(|event| event.kind.type_tag() == kind)
}

pub(crate) fn count(history: &[Event], kind: &str) -> usize {
    history.iter().filter(|event| event.kind.type_tag() == kind).count()
}

pub(crate) fn is_conflict<T>(result: &Result<T, ClientError>) -> bool {
    matches!(result, Err(ClientError::Provider(error)) if error.kind == ProviderErrorKind::Conflict)
}

pub(crate) fn refusal<T>(result: Result<T, ClientError>) -> String {
    match result.map(drop) {
        Err(ClientError::InvalidInput { message }) => message,
        other => panic!("not refused: {other:?}"),
    }
}

pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(TIMEOUT, future).await.expect("it takes too long")
}
