//! Progress of running activities.

use duroxide_core::providers::ActivityProgress;
use duroxide_core::providers::kit::activity_name;

use super::refusal::Refusal;
use super::store::{Progress, Store};
use super::worker_queue;

/// Stores a report under a live lease, in place of the previous one.
pub(crate) fn record(
    store: &mut Store,
    now: u64,
    token: &str,
    progress: &str,
) -> Result<(), Refusal> {
    let number = worker_queue::require_live(store, now, token)?;
    if let Some(work) = store.work.get_mut(&number) {
        let (text, attempt) = (progress.to_owned(), work.attempt_count);
        work.progress = Some(Progress { text, attempt, updated_at: now });
    }
    Ok(())
}

/// Reports of the unfinished activities of an instance, by execution and activity.
pub(crate) fn read(store: &Store, instance: &str) -> Vec<ActivityProgress> {
    let own = store.work.values().filter(|work| work.instance == instance);
    let mut reports: Vec<ActivityProgress> = own
        .filter_map(|work| {
            let report = work.progress.as_ref()?;
            let progress = ActivityProgress::new(work.execution_id, work.activity_id)
                .with_activity_name(activity_name(&work.text))
                .with_attempt(report.attempt)
                .with_progress(report.text.clone())
                .with_updated_at_ms(report.updated_at);
            Some(progress)
        })
        .collect();
    reports.sort_unstable_by_key(|report| (report.execution_id, report.activity_id));
    reports
}
