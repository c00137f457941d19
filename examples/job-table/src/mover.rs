//! The change-over: moves the jobs of one kind from the table to workflows.

use duroxide::client::{StartRequest, Started};
use duroxide::prelude::*;

use crate::job::{instance_id, run_job};
use crate::table::{Counts, JobTable};

/// Says that all old workers and all programs that insert rows have stopped. A queue, because the
/// change-over may be between two executions when the message comes.
pub const OLD_STOPPED: Queue<()> = Queue::new("old-stopped");

/// Rows that are moved by one activity.
const PAGE: u32 = 100;
/// How long the change-over waits for further rows.
const PAUSE: Duration = Duration::from_secs(1);
/// Rounds of one execution, whose history grows with them.
const ROUNDS: u32 = 50;

/// Moves the jobs of a kind, and those that are still inserted, until the old side has stopped and
/// the table is drained. Its custom status says how far it is.
#[orchestration]
pub async fn change_over(
    ctx: OrchestrationContext,
    kind: String,
    mut old_stopped: bool,
) -> Result<Counts, String> {
    for _round in 0..ROUNDS {
        let moved = ctx.call(JobTable::move_page, (kind.clone(), old_stopped)).await?;
        let counts = ctx.call(JobTable::count_jobs, kind.clone()).await?;
        ctx.set_custom_status(format!("{counts:?}"));
        if old_stopped && counts.is_drained() {
            return Ok(counts);
        }
        if moved == 0 && !old_stopped {
            duroxide::select! {
                _message = ctx.receive(OLD_STOPPED) => old_stopped = true,
                () = ctx.schedule_timer(PAUSE) => {}
            }
        }
    }
    ctx.continue_as(change_over, (kind, old_stopped)).await
}

#[activity]
impl JobTable {
    /// Moves some jobs and returns how many are new instances. A crash at any place is repaired by
    /// the next call: rows that are claimed are returned again, and an instance that exists is not
    /// started again.
    #[activity(name = "MovePage", retry(attempts = 10))]
    pub async fn move_page(
        &self,
        ctx: ActivityContext,
        kind: String,
        old_stopped: bool,
    ) -> Result<u32, String> {
        if old_stopped {
            self.release_running(&kind).map_err(|error| error.to_string())?;
        }
        let jobs = self.claim_for_move(&kind, PAGE).map_err(|error| error.to_string())?;
        let client = ctx.get_client();
        let mut moved = 0;
        for job in jobs {
            let start = StartRequest::of(run_job, instance_id(&job), &job);
            let start = start.map_err(|error| error.to_string())?;
            let started = client.start_if_new(start).await.map_err(|error| error.to_string())?;
            self.mark_moved(job.id).map_err(|error| error.to_string())?;
            moved += u32::from(started == Started::New);
        }
        Ok(moved)
    }

    /// Counts the rows of a kind.
    #[activity(name = "CountJobs", retry(attempts = 10))]
    pub async fn count_jobs(&self, _ctx: ActivityContext, kind: String) -> Result<Counts, String> {
        self.count(&kind).map_err(|error| error.to_string())
    }
}
