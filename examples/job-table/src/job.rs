//! A job as a workflow.

use std::time::UNIX_EPOCH;

use duroxide::prelude::*;

use crate::post::Post;
use crate::table::{ATTEMPTS_MAX, Job};

/// The id of the instance of a job. Made from the key of the row, so that a job that is started
/// twice runs once.
pub fn instance_id(job: &Job) -> String {
    format!("{}-{}", job.kind, job.id)
}

/// Does a job when it is due, with the attempts that it has left.
#[orchestration]
pub async fn run_job(ctx: OrchestrationContext, job: Job) -> Result<(), String> {
    let due = UNIX_EPOCH + Duration::from_secs(job.run_after);
    if let Ok(wait) = due.duration_since(ctx.utc_now().await?) {
        ctx.schedule_timer(wait).await;
    }
    let attempts = ATTEMPTS_MAX.saturating_sub(job.attempts).max(1);
    let (first, longest) = (Duration::from_secs(2), Duration::from_secs(60));
    let retry = Retry::new(attempts).with_exponential_backoff(first, longest);
    Ok(ctx.call(Worker::perform, &job).with_retry(retry).await?)
}

/// What jobs need to be done.
#[derive(Debug)]
pub struct Worker {
    post: Post,
}

#[activity]
impl Worker {
    /// Does a job, with the code that the old worker has.
    #[activity(name = "PerformJob")]
    pub async fn perform(&self, _ctx: ActivityContext, job: Job) -> Result<(), String> {
        self.post.perform(&job, "new")
    }
}

impl Worker {
    /// A worker with this post.
    pub fn new(post: Post) -> Self {
        Self { post }
    }
}
