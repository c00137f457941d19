//! The worker that the workflows replace: a loop that polls the table.
//!
//! What it lacks is what the workflows bring: a job whose worker dies stays `running` for ever, a
//! job of several steps starts again from its first one, and nothing says why a job waits.

use std::time::Duration;

use crate::post::Post;
use crate::table::JobTable;

/// The pause after a poll that found nothing.
const POLL: Duration = Duration::from_secs(1);

/// Does one job that is due. Returns whether there was one.
///
/// # Errors
/// When the table cannot be used.
pub fn work_once(table: &JobTable, post: &Post) -> rusqlite::Result<bool> {
    let Some(job) = table.claim()? else { return Ok(false) };
    let outcome = post.perform(&job, "old");
    table.finish(&job, outcome)?;
    Ok(true)
}

/// Does jobs for ever.
///
/// # Errors
/// When the table cannot be used.
pub async fn old_worker(table: &JobTable, post: &Post) -> rusqlite::Result<()> {
    loop {
        if !work_once(table, post)? {
            tokio::time::sleep(POLL).await;
        }
    }
}
