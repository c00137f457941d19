//! The failure of an activity that no worker started in time.

use std::time::Duration;

use tracing::warn;

use super::leased_activity::{LeasedActivity, Work};
use super::{FinishedActivity, report};

/// The failure of an activity that no worker started within its limit. Orchestration code can catch
/// it like a failure of the handler.
pub(crate) fn overdue_failure(
    leased: LeasedActivity,
    work: Work,
    limit: Duration,
) -> FinishedActivity {
    let message = not_started(&work, limit);
    warn!(
        target: "duroxide::runtime",
        instance_id = %work.id.instance,
        execution_id = work.id.execution_id,
        activity_id = work.id.activity_id,
        "{message}"
    );
    let completion = report::app_error(&work, message);
    FinishedActivity { leased, work, completion, outcome: "app_error", took: None }
}

fn not_started(work: &Work, limit: Duration) -> String {
    let tag = work.tag.as_ref().map(|tag| format!("serves tag `{tag}`"));
    let session = work.session_id.as_ref().map(|session| format!("may run session `{session}`"));
    let wanted: Vec<String> = tag.into_iter().chain(session).collect();
    let who = if wanted.is_empty() {
        "no worker".to_owned()
    } else {
        format!("no worker that {}", wanted.join(" and "))
    };
    format!(
        "activity `{}` was not started within {limit:?} of being scheduled: {who} took it",
        work.name
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::ScheduledActivityIdentifier;

    fn text(tag: Option<&str>, session: Option<&str>) -> String {
        let instance = "order".to_owned();
        let work = Work {
            id: ScheduledActivityIdentifier { instance, execution_id: 1, activity_id: 2 },
            name: "resize".to_owned(),
            input: String::new(),
            session_id: session.map(str::to_owned),
            tag: tag.map(str::to_owned),
        };
        not_started(&work, Duration::from_secs(30))
    }

    #[test]
    fn the_error_names_the_activity_the_limit_and_the_missing_worker() {
        let begin = "activity `resize` was not started within 30s of being scheduled: no worker";
        assert_eq!(text(None, None), format!("{begin} took it"));
        assert_eq!(text(Some("gpu"), None), format!("{begin} that serves tag `gpu` took it"));
        assert_eq!(text(None, Some("s")), format!("{begin} that may run session `s` took it"));
        let both = format!("{begin} that serves tag `gpu` and may run session `s` took it");
        assert_eq!(text(Some("gpu"), Some("s")), both);
    }
}
