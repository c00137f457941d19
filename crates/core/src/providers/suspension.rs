//! Suspended instances: they keep their history and take no turns.
//!
//! A suspension is a lease that no node holds. Messages of the instance wait behind it, and neither
//! a fetch nor a direct turn passes it. An operator's suspension lasts until it is lifted; one that
//! replay caused expires by itself, so that a node whose code agrees with the history can take the
//! turn.

use std::time::Duration;

/// The shortest time between two turns of an instance that replay suspended.
pub const SUSPENSION_RETRY_MIN: Duration = Duration::from_secs(5);

/// The longest time between two turns of an instance that replay suspended.
pub const SUSPENSION_RETRY_MAX: Duration = Duration::from_secs(300);

/// What suspended an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SuspensionOrigin {
    /// The code disagrees with the history.
    Replay,
    /// An operator asked for it.
    Operator,
}

impl SuspensionOrigin {
    /// The word for it, which stores keep.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Replay => "replay",
            Self::Operator => "operator",
        }
    }

    /// What a stored word means. One that this version does not know is an operator's: it lasts
    /// until it is lifted.
    pub fn from_stored(word: &str) -> Self {
        match word {
            "replay" => Self::Replay,
            _ => Self::Operator,
        }
    }
}

/// A suspension as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Suspension {
    /// What caused it.
    pub origin: SuspensionOrigin,
    /// Why: the difference between code and history, or the operator's words.
    pub reason: String,
    /// Milliseconds since the Unix epoch. Turns that failed again in between do not change it.
    pub since_ms: u64,
}

impl Suspension {
    /// A suspension.
    pub fn new(origin: SuspensionOrigin, reason: String, since_ms: u64) -> Self {
        Self { origin, reason, since_ms }
    }
}

/// An instance that is suspended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SuspendedInstance {
    /// Its id.
    pub instance_id: String,
    /// Registered name.
    pub orchestration_name: String,
    /// Handler version.
    pub orchestration_version: String,
    /// Current execution.
    pub execution_id: u64,
    /// Why and since when.
    pub suspension: Suspension,
}

impl SuspendedInstance {
    /// An instance of this id, suspended.
    pub fn new(instance_id: String, suspension: Suspension) -> Self {
        Self {
            instance_id,
            orchestration_name: String::new(),
            orchestration_version: String::new(),
            execution_id: 0,
            suspension,
        }
    }

    /// What it runs.
    #[must_use]
    pub fn running(mut self, name: String, version: String, execution_id: u64) -> Self {
        self.orchestration_name = name;
        self.orchestration_version = version;
        self.execution_id = execution_id;
        self
    }
}

/// When an instance that replay has suspended since `since_ms` takes its next turn: after half of
/// the time that has passed, so that a new deployment is noticed soon and a long suspension costs
/// little.
pub fn suspension_retry_ms(since_ms: u64, now_ms: u64) -> u64 {
    let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let pause = (now_ms.saturating_sub(since_ms) / 2)
        .clamp(millis(SUSPENSION_RETRY_MIN), millis(SUSPENSION_RETRY_MAX));
    now_ms.saturating_add(pause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_grows_with_the_suspension_within_bounds() {
        let pause = |since: u64| suspension_retry_ms(1_000_000_000 - since, 1_000_000_000);
        assert_eq!(pause(0), 1_000_000_000 + 5_000);
        assert_eq!(pause(60_000), 1_000_000_000 + 30_000);
        assert_eq!(pause(10_000_000), 1_000_000_000 + 300_000);
        // The clock was set back.
        assert_eq!(suspension_retry_ms(2_000, 1_000), 6_000);
    }

    #[test]
    fn a_stored_word_is_read_back() {
        for origin in [SuspensionOrigin::Replay, SuspensionOrigin::Operator] {
            assert_eq!(SuspensionOrigin::from_stored(origin.as_str()), origin);
        }
    }
}
