//! Acts on a slice of a page.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::Mutex;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use super::freeze::frozen_ids;
use super::one::{Act, act_on};
use crate::client::bulk::{AppliedSlice, ApplyInput, BulkOutcome, BulkResult};
use crate::limits::{BULK_AT_ONCE, BULK_PROGRESS_INTERVAL, BULK_SLICE};
use crate::runtime::ActivityContext;

/// What became of the first instances of a slice, without their ids.
type Progress = Vec<(BulkResult, Option<String>)>;

/// The activity. If it was interrupted, it goes on behind the outcomes that it has reported; those
/// that it had not reported are acted on again.
pub(super) async fn apply(ctx: ActivityContext, input: String) -> Result<String, String> {
    let input: ApplyInput = serde_json::from_str(&input).map_err(|error| error.to_string())?;
    let client = ctx.get_client();
    let ids = frozen_ids(&ctx, &client, input.page_in).await?;
    let to = ids.len().min(input.from.saturating_add(BULK_SLICE));
    let slice = ids.get(input.from..to).unwrap_or_default();
    let reported: Progress = ctx.last_progress_typed().ok().flatten().unwrap_or_default();
    let mut progress: Progress = reported.into_iter().take(slice.len()).collect();
    let pace = Pace::new(input.rate_per_second);
    let act = Act {
        client: &client,
        own_id: ctx.instance_id(),
        act: input.act,
        reason: &input.reason,
        is_repeated: ctx.attempt() > 1,
    };
    let todo = slice.get(progress.len()..).unwrap_or_default();
    let mut reported_at = Instant::now();
    // None is under way while progress is reported: acts that are not polled keep their connections
    // to the store, and the report would wait for one of those.
    for together in todo.chunks(BULK_AT_ONCE) {
        progress.extend(join_all(together.iter().map(|id| act_in_time(&pace, &act, id))).await);
        if ctx.is_cancelled() {
            return Err("the act was cancelled".to_owned());
        }
        if reported_at.elapsed() >= BULK_PROGRESS_INTERVAL {
            report(&ctx, &progress).await;
            reported_at = Instant::now();
        }
    }
    let outcomes = slice.iter().zip(progress);
    let outcomes =
        outcomes.map(|(id, (result, detail))| BulkOutcome::new(id.clone(), result, detail));
    let next = (to < ids.len()).then_some(to);
    let applied = AppliedSlice { outcomes: outcomes.collect(), next };
    serde_json::to_string(&applied).map_err(|error| error.to_string())
}

/// Waits for its time, and acts.
async fn act_in_time(pace: &Pace, act: &Act<'_>, id: &str) -> (BulkResult, Option<String>) {
    pace.next().await;
    act_on(act, id).await
}

/// Reports how far the slice is. Without a report a successor repeats more.
async fn report(ctx: &ActivityContext, progress: &Progress) {
    if let Err(error) = ctx.report_progress_typed(progress).await {
        ctx.trace_debug(format!("could not report progress; going on: {error}"));
    }
}

/// Keeps to a rate.
struct Pace(Option<Mutex<Interval>>);

impl Pace {
    fn new(rate_per_second: Option<u32>) -> Self {
        Self(rate_per_second.map(|rate| {
            let period = Duration::from_secs(1) / rate.max(1);
            // The first act waits, too: slices follow each other without a pause.
            let mut interval = interval_at(Instant::now() + period, period);
            interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
            Mutex::new(interval)
        }))
    }

    async fn next(&self) {
        if let Some(interval) = &self.0 {
            interval.lock().await.tick().await;
        }
    }
}
