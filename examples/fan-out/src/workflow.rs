//! The fan-out: pages of photos, and the photos of a page.

use std::fmt;

use duroxide::prelude::*;
use serde::{Deserialize, Serialize};

use crate::catalogue::Catalogue;

/// Failures that the report lists; it counts all. The children keep the others.
const FAILURES_LISTED: usize = 20;

/// What is to be done, and how far it is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Job {
    /// Photos that are shrunk at the same time.
    pub at_once: usize,
    /// Photos of one child, whose history grows with them.
    pub page_size: u32,
    /// Pages after which the parent continues as new, because its history grows with them.
    pub pages_per_execution: u32,
    /// The last photo that is done.
    pub after: u32,
    /// The outcome so far.
    pub report: Report,
}

impl Default for Job {
    fn default() -> Self {
        Self {
            at_once: 32,
            page_size: 500,
            pages_per_execution: 20,
            after: 0,
            report: Report::default(),
        }
    }
}

/// What has become of the photos.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Photos with a thumbnail.
    pub done: usize,
    /// Photos without one.
    pub failed: usize,
    /// The first failures.
    pub failures: Vec<Failure>,
}

/// A photo that has no thumbnail, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// The number of the photo.
    pub photo: u32,
    /// The reason.
    pub reason: String,
}

/// Shrinks all photos, page by page. Its custom status says how far it is.
#[orchestration]
pub async fn shrink_all(ctx: OrchestrationContext, mut job: Job) -> Result<Report, String> {
    for _page in 0..job.pages_per_execution {
        ctx.set_custom_status(job.report.to_string());
        let photos = ctx.call(Catalogue::list_photos, (job.after, job.page_size)).await?;
        let Some(last) = photos.last().copied() else { return Ok(job.report) };
        let count = photos.len();
        let failures = ctx.child(shrink_page, (photos, job.at_once)).await?;
        job.report.add(count, failures);
        job.after = last;
    }
    ctx.continue_as(shrink_all, job).await
}

/// Shrinks the photos of one page, at most `at_once` at a time, and returns those that failed.
#[orchestration]
pub async fn shrink_page(
    ctx: OrchestrationContext,
    photos: Vec<u32>,
    at_once: usize,
) -> Result<Vec<Failure>, String> {
    let shrink = async |photo: u32| match ctx.call(Catalogue::shrink, photo).await {
        Ok(()) => None,
        Err(error) => Some(Failure { photo, reason: error.to_string() }),
    };
    let outcomes = ctx.map_concurrent(photos, at_once, shrink).await;
    let failures: Vec<Failure> = outcomes.into_iter().flatten().collect();
    // Operators find the pages with failures by the filter `attr.failed=true`.
    ctx.set_attribute("failed", !failures.is_empty());
    Ok(failures)
}

impl Report {
    fn add(&mut self, photos: usize, failures: Vec<Failure>) {
        self.done += photos - failures.len();
        self.failed += failures.len();
        let room = FAILURES_LISTED.saturating_sub(self.failures.len());
        self.failures.extend(failures.into_iter().take(room));
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} done, {} failed", self.done, self.failed)
    }
}
