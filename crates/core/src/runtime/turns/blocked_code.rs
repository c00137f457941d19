//! Orchestration code that blocks its thread.
//!
//! The code of a turn only decides, so that it runs for microseconds. A thread that it blocks is
//! missing for all other turns and activities of the node.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tracing::warn;

use crate::clock::millis;
use crate::limits::{BLOCKED_TURN_MIN, BLOCKED_TURN_WARNING_INTERVAL};
use crate::runtime::start_facts::StartFacts;

/// Warns of code that blocks.
#[derive(Debug, Default)]
pub(crate) struct BlockedCode {
    /// When this node last warned of each orchestration.
    warned: Mutex<HashMap<String, Instant>>,
}

impl BlockedCode {
    /// Runs the code of a turn, and warns if it blocks its thread. Returns how long it ran, too.
    pub(crate) fn watch<T>(
        &self,
        instance: &str,
        facts: &StartFacts,
        code: impl FnOnce() -> T,
    ) -> (T, Duration) {
        let started = Instant::now();
        let decided = code();
        let ran = started.elapsed();
        if ran >= BLOCKED_TURN_MIN && self.is_due(&facts.name, Instant::now()) {
            warn_of(instance, facts, ran);
        }
        (decided, ran)
    }

    /// Whether a warning of this orchestration is due; it is then counted as written.
    fn is_due(&self, orchestration: &str, now: Instant) -> bool {
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        warned.retain(|_, at| now.duration_since(*at) < BLOCKED_TURN_WARNING_INTERVAL);
        let is_due = !warned.contains_key(orchestration);
        if is_due {
            warned.insert(orchestration.to_owned(), now);
        }
        is_due
    }
}

fn warn_of(instance: &str, facts: &StartFacts, ran: Duration) {
    warn!(
        target: "duroxide::runtime",
        instance_id = %instance,
        orchestration_name = %facts.name,
        orchestration_version = %facts.version,
        blocked_ms = millis(ran),
        "orchestration code blocked its thread, which other turns and activities need; move the \
         work into an activity"
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observability::capture::captured;

    fn facts(name: &str) -> StartFacts {
        StartFacts {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            parent: None,
            pin: "0.2.0".to_owned(),
            started_at_ms: 0,
        }
    }

    #[test]
    fn an_orchestration_is_warned_of_once_in_an_interval() {
        let code = BlockedCode::default();
        let start = Instant::now();
        assert!(code.is_due("Order", start));
        assert!(!code.is_due("Order", start));
        assert!(code.is_due("Other", start));
        let interval = BLOCKED_TURN_WARNING_INTERVAL;
        assert!(!code.is_due("Order", start + interval - Duration::from_millis(1)));
        assert!(code.is_due("Order", start + interval));
        assert!(!code.is_due("Order", start + interval));
    }

    #[test]
    fn only_code_that_blocks_is_warned_of() {
        let code = BlockedCode::default();
        let (decided, _ran) = code.watch("order-1", &facts("Order"), || 7);
        assert_eq!(decided, 7);
        assert!(code.is_due("Order", Instant::now()), "it was not warned of");
        let lines = captured(|| warn_of("order-1", &facts("Order"), Duration::from_millis(612)));
        assert_eq!(lines.len(), 1, "{lines:?}");
        for part in ["order-1", "Order", "1.0.0", "612", "move the work into an activity"] {
            assert!(lines[0].contains(part), "{part} is missing in {lines:?}");
        }
    }
}
