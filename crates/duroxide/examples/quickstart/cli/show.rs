//! Progress on the terminal.

use std::collections::HashMap;

use duroxide::{Event, EventKind, OrchestrationStatus};

/// One line of progress.
pub(crate) fn line(what: &str, step: &str, detail: &str) {
    println!("{}", format!("  {what:<11} {step:<13} {detail}").trim_end());
}

/// Says each event of a history once.
#[derive(Debug, Default)]
pub(crate) struct Teller {
    told: usize,
    /// Names of activities by the event that scheduled them.
    names: HashMap<u64, String>,
    pub(crate) asks_for_approval: bool,
}

impl Teller {
    /// Says what is new; `what` tells remembered steps from those recorded just now.
    pub(crate) fn tell(&mut self, history: &[Event], what: &str) {
        for event in history.iter().skip(self.told) {
            self.tell_event(event, what);
        }
        self.told = self.told.max(history.len());
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "the demo shows only these events")]
    fn tell_event(&mut self, event: &Event, what: &str) {
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
                line(what, "timer", "over");
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
