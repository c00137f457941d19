//! A small workflow, again and again, beside the large ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bench_harness::stats;
use duroxide::Client;
use tokio::task::JoinHandle;

use super::cases::completed;
use super::store::text;

/// The pause between two: they shall not be the load.
const PAUSE: Duration = Duration::from_millis(20);

/// The task that runs them.
pub(super) struct Beside {
    is_over: Arc<AtomicBool>,
    task: JoinHandle<Result<Vec<f64>, String>>,
}

impl Beside {
    /// Runs one after another until [`stop`](Self::stop).
    pub(super) fn start(client: Client) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let task = tokio::spawn(async move {
            let mut times = Vec::new();
            while !over.load(Ordering::Relaxed) {
                let id = format!("beside-{}", times.len());
                let started = Instant::now();
                client.start_orchestration(&id, "small", "").await.map_err(text)?;
                completed(&client, &id).await?;
                times.push(started.elapsed().as_secs_f64() * 1e3);
                tokio::time::sleep(PAUSE).await;
            }
            Ok(times)
        });
        Self { is_over, task }
    }

    /// The median and the longest, in milliseconds.
    pub(super) async fn stop(self) -> Result<String, String> {
        self.is_over.store(true, Ordering::Relaxed);
        let times = self.task.await.map_err(text)??;
        let longest = times.iter().copied().fold(0.0, f64::max);
        Ok(format!("{:.1} ms | {longest:.0} ms", stats::median(&times)))
    }
}
