//! One activity, without a workflow.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use duroxide_conformance::reference::MemoryProvider;
use duroxide_core::ActivityContext;
use duroxide_core::clock::ManualClock;
use duroxide_core::providers::{Provider, TagFilter, WorkItem};
use duroxide_core::runtime::TestedAttempt;
use duroxide_core::typed::{Activity, Callable, RecordedFn};
use tokio_util::sync::CancellationToken;

use crate::limits::{ACTIVITY_LEASE, START_MS};

const INSTANCE: &str = "activity-test";

/// Runs one activity: its attempt, what an earlier attempt reported, its cancellation and its
/// deadline are what the test says. Clones refer to the same attempt.
///
/// The clock of the store stands still, and no node runs. For code in a state, or registered by
/// name, [`context`](Self::context) gives the context to call it with.
///
/// # Examples
///
/// ```
/// # extern crate duroxide_core as duroxide;
/// # use duroxide_core::ActivityContext;
/// # use duroxide_macros::activity;
/// # use duroxide_testing::ActivityEnv;
/// #[activity]
/// async fn import(ctx: ActivityContext, files: u32) -> Result<u32, String> {
///     let done = ctx.last_progress_typed::<u32>()?.unwrap_or(0);
///     for file in done..files {
///         ctx.report_progress_typed(&(file + 1)).await?;
///     }
///     Ok(files - done)
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let env = ActivityEnv::new().with_attempt(2).with_last_progress("2");
/// assert_eq!(env.run(import, 3).await, Ok(1));
/// assert_eq!(env.progress().await.as_deref(), Some("3"));
/// # }
/// ```
#[derive(Clone)]
#[must_use = "an environment does nothing until it runs an activity"]
pub struct ActivityEnv {
    store: Arc<MemoryProvider>,
    attempt: u32,
    last_progress: Option<String>,
    deadline: Option<Duration>,
    cancellation: CancellationToken,
}

impl fmt::Debug for ActivityEnv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ActivityEnv")
            .field("attempt", &self.attempt)
            .field("last_progress", &self.last_progress)
            .finish_non_exhaustive()
    }
}

impl Default for ActivityEnv {
    fn default() -> Self {
        let clock = Arc::new(ManualClock::new(START_MS));
        Self {
            store: Arc::new(MemoryProvider::new(clock)),
            attempt: 1,
            last_progress: None,
            deadline: None,
            cancellation: CancellationToken::new(),
        }
    }
}

impl ActivityEnv {
    /// A first attempt.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the number of the attempt, from 1.
    #[must_use = "returns the changed environment"]
    pub fn with_attempt(mut self, attempt: u32) -> Self {
        self.attempt = attempt;
        self
    }

    /// Sets what an earlier attempt reported.
    #[must_use = "returns the changed environment"]
    pub fn with_last_progress(mut self, progress: impl Into<String>) -> Self {
        self.last_progress = Some(progress.into());
        self
    }

    /// Cancels the activity when it has run for this long, by the clock of tokio, which
    /// `start_paused` lets skip.
    #[must_use = "returns the changed environment"]
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Cancels the activity.
    pub fn cancel(&self) {
        self.cancellation.cancel();
    }

    /// Runs an activity by its function.
    ///
    /// # Errors
    /// The error of the activity.
    pub async fn run<F, M>(
        &self,
        activity: F,
        input: <F::Handle as Callable>::Input,
    ) -> Result<<F::Handle as Callable>::Output, <F::Handle as Callable>::Error>
    where
        F: RecordedFn<ActivityContext, M, Handle: Activity>,
    {
        let ctx = self.context(F::Handle::NAME).await;
        let running = activity.start(ctx, input);
        match self.deadline {
            None => running.await,
            Some(deadline) => {
                let passed = async {
                    tokio::time::sleep(deadline).await;
                    self.cancel();
                    std::future::pending().await
                };
                tokio::select! {
                    outcome = running => outcome,
                    () = passed => unreachable!("it only cancels"),
                }
            }
        }
    }

    /// The context of the activity of this name.
    ///
    /// # Panics
    /// When the store in memory refuses the call, which it never does.
    pub async fn context(&self, activity: &str) -> ActivityContext {
        let item = WorkItem::ActivityExecute {
            instance: INSTANCE.to_owned(),
            execution_id: 1,
            id: 2,
            name: activity.to_owned(),
            input: String::new(),
            session_id: None,
            tag: None,
        };
        self.store.enqueue_for_worker(item).await.expect("the store in memory takes activities");
        let (lease, wait) = (ACTIVITY_LEASE, Duration::ZERO);
        let fetched = self.store.fetch_work_item(lease, wait, None, &TagFilter::Any).await;
        let (_item, lock_token, _attempt) =
            fetched.ok().flatten().expect("the activity is in the queue");
        let attempt = TestedAttempt {
            instance_id: INSTANCE.to_owned(),
            activity_name: activity.to_owned(),
            attempt: self.attempt,
            last_progress: self.last_progress.clone(),
            lock_token,
            cancellation: self.cancellation.clone(),
        };
        ActivityContext::for_test(Arc::clone(&self.store) as _, attempt)
    }

    /// The last progress that the activity reported.
    pub async fn progress(&self) -> Option<String> {
        let reports = self.store.read_activity_progress(INSTANCE).await.unwrap_or_default();
        reports.last().map(|report| report.progress.clone())
    }
}
