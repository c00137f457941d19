//! Progress on the terminal.

use std::collections::HashMap;

use duroxide::{Event, EventKind, OrchestrationStatus};

/// One line of progress.
pub(crate) fn line(what: &str, step: &str, detail: &str) {
    println!("{}", format!("  {what:<11} {step:<13} {detail}").trim_end());
}

/// Prints each event of a history once.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    shown: usize,
    /// Names of activities by the event that scheduled them.
    names: HashMap<u64, String>,
    pub(crate) asks_for_approval: bool,
}

impl Progress {
    /// Prints new events; `what` distinguishes remembered steps from new ones.
    pub(crate) fn show(&mut self, history: &[Event], what: &str) {
        for event in history.iter().skip(self.shown) {
            self.show_event(event, what);
        }
        self.shown = self.shown.max(history.len());
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "the demo shows only these events")]
    fn show_event(&mut self, event: &Event, what: &str) {
        let name = event.source_event_id.and_then(|id| self.names.get(&id)).cloned();
        let name = name.unwrap_or_default();
        match &event.kind {
            EventKind::ActivityScheduled { name, .. } => {
                self.names.insert(event.event_id, name.clone());
            }
            EventKind::ActivityCompleted { result } => {
                line(what, &name, result.trim_matches('"'));
            }
            EventKind::ActivityFailed { details } => {
                line(what, &name, &format!("failed: {}", details.display_message()));
            }
            EventKind::ExternalSubscribed { name } => {
                self.asks_for_approval = true;
                line(what, name, "asked for");
            }
            EventKind::ExternalEvent { name, data } => {
                self.asks_for_approval = false;
                line(what, name, data);
            }
            EventKind::TimerCreated { fire_at_ms } => {
                let tenths = fire_at_ms.saturating_sub(event.timestamp_ms) / 100;
                line(what, "timer", &format!("{}.{} s", tenths / 10, tenths % 10));
            }
            EventKind::TimerFired { .. } => {
                self.asks_for_approval = false;
                line(what, "timer", "fired");
            }
            _not_a_step => {}
        }
    }
}

/// An order in a few words.
pub(crate) fn status(status: &OrchestrationStatus) -> String {
    match status {
        OrchestrationStatus::NotFound => "unknown".to_owned(),
        OrchestrationStatus::Running { .. } => "open".to_owned(),
        OrchestrationStatus::Completed { output, .. } => output.trim_matches('"').to_owned(),
        OrchestrationStatus::Failed { details, .. } => {
            format!("failed: {}", details.display_message())
        }
    }
}
