//! The same mistakes on a node that does not replay every turn.

use std::fmt::{Debug, Write as _};
use std::sync::{Mutex, Once, PoisonError};

use duroxide::prelude::*;
use tracing::field::{Field, Visit};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

use crate::texts::assert_text;

/// How long a test waits for the end of an instance.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Runs an instance whose id is the name of its orchestration.
async fn run(builder: duroxide::runtime::RuntimeBuilder, name: &str) -> OrchestrationStatus {
    let store = Arc::new(SqliteProvider::new_in_memory().await.unwrap());
    let node = builder.with_provider(store.clone()).build().await.unwrap();
    let client = Client::new(store);
    client.start_orchestration(name, name, "").await.unwrap();
    let status = client.wait_for_orchestration(name, TIMEOUT).await.unwrap();
    node.shutdown(None).await;
    status
}

#[tokio::test]
async fn a_timer_of_the_executor() {
    #[orchestration]
    async fn remind(_ctx: OrchestrationContext) -> Result<(), String> {
        tokio::time::sleep(Duration::from_millis(1)).await;
        Ok(())
    }
    let status = run(DuroxideRuntime::builder().register(remind), "remind").await;
    let OrchestrationStatus::Failed { details, .. } = status else { panic!("{status:?}") };
    assert_text("executor_timer_in_production", &details.display_message());
}

/// The instance goes on; the log warns once, however many turns block.
#[tokio::test]
async fn code_that_blocks_its_thread() {
    #[orchestration]
    async fn remind_late(ctx: OrchestrationContext) -> Result<(), String> {
        for _turn in 0..2 {
            std::thread::sleep(Duration::from_millis(550));
            ctx.schedule_timer(Duration::from_millis(1)).await;
        }
        Ok(())
    }
    collect_warnings();
    let status = run(DuroxideRuntime::builder().register(remind_late), "remind_late").await;
    assert!(matches!(status, OrchestrationStatus::Completed { .. }), "{status:?}");
    let warnings = WARNINGS.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let of_this_test: Vec<String> =
        warnings.into_iter().filter(|warning| warning.contains("remind_late")).collect();
    assert_text("blocking_in_production", &of_this_test.concat());
}

/// Warnings of the runtime in this process, one field in each line.
static WARNINGS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Starts to collect warnings. For the whole process: what one thread alone collects can miss
/// lines that another thread has written first.
fn collect_warnings() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let collected = tracing_subscriber::registry().with(Warnings);
        tracing::subscriber::set_global_default(collected).unwrap();
    });
}

struct Warnings;

impl<S: tracing::Subscriber> Layer<S> for Warnings {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        if *metadata.level() == tracing::Level::WARN && metadata.target() == "duroxide::runtime" {
            let mut fields = Fields(String::new());
            event.record(&mut fields);
            WARNINGS.lock().unwrap_or_else(PoisonError::into_inner).push(fields.0);
        }
    }
}

struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        match field.name() {
            // The only field that differs from run to run.
            "blocked_ms" => self.0.push_str("blocked_ms: #\n"),
            "message" => writeln!(self.0, "{value:?}").unwrap(),
            name => writeln!(self.0, "{name}: {value:?}").unwrap(),
        }
    }
}
