//! One worker process. It exits when its standard input closes, or when it is killed.

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use duroxide::RuntimeOptions;
use duroxide::runtime::Runtime;
use tracing_subscriber::EnvFilter;

use crate::args::NodeArgs;
use crate::effects::Effects;
use crate::workflows;

/// Lease of an activity.
pub(crate) const WORK_LEASE: Duration = Duration::from_millis(1_200);
/// Lease of a turn.
const TURN_LEASE: Duration = Duration::from_millis(800);
/// Lease of a session.
const SESSION_LEASE: Duration = Duration::from_millis(1_500);
/// An unused session is released after this time.
const SESSION_IDLE: Duration = Duration::from_secs(3);
/// Leased work completes within this time when the soak is over.
const GRACE_MS: u64 = 10_000;
/// A kill is not the fault of a message, so it may happen often.
const ATTEMPTS_MAX: u32 = 100;

/// Works until standard input closes.
pub(crate) fn run(args: &NodeArgs) -> Result<(), String> {
    tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new("warn"))
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .init();
    let tokio = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    tokio.block_on(work(args))
}

async fn work(args: &NodeArgs) -> Result<(), String> {
    let store = args.store.open().await?;
    let effects = Effects::new(&args.effects);
    let runtime = Runtime::start_with_options(
        Arc::clone(&store),
        workflows::activities(&effects),
        workflows::orchestrations(),
        options(&args.name),
    )
    .await;
    let (over, is_over) = tokio::sync::oneshot::channel();
    // A thread of its own: tokio's standard input would keep the process from exiting.
    std::thread::spawn(move || {
        // The end of the input and an error both mean that the parent process is gone.
        let mut ignored = Vec::new();
        drop(std::io::stdin().read_to_end(&mut ignored));
        over.send(()).unwrap_or_default();
    });
    is_over.await.map_err(|error| error.to_string())?;
    runtime.shutdown(Some(GRACE_MS)).await;
    Ok(())
}

/// Short leases, so that the work of a dead node is soon taken over.
pub(crate) fn options(name: &str) -> RuntimeOptions {
    RuntimeOptions {
        orchestration_concurrency: 8,
        worker_concurrency: 24,
        orchestrator_lock_timeout: TURN_LEASE,
        worker_lock_timeout: WORK_LEASE,
        worker_lock_renewal_buffer: Duration::ZERO,
        session_lock_timeout: SESSION_LEASE,
        session_idle_timeout: SESSION_IDLE,
        session_cleanup_interval: Duration::from_secs(1),
        max_sessions_per_runtime: 8,
        // One node names itself, the others own sessions by slot.
        worker_node_id: (name == "0").then(|| format!("node-{}", std::process::id())),
        max_attempts: ATTEMPTS_MAX,
        activity_cancellation_grace_period: Duration::from_secs(1),
        ..RuntimeOptions::default()
    }
}
