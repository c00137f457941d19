//! Replay rules. The version that an execution is pinned to selects them.

use semver::Version;

use crate::model::pins;

/// The first version in which a dropped wait stops counting at the drop.
const EARLY_RACE_SINCE: Version = Version::new(0, 1, 31);

/// The first version that records changes of the custom status.
const STATUS_RECORDED_SINCE: Version = Version::new(0, 1, 20);

/// The first version whose stores keep the keys of the running execution apart.
const KEYS_APART_SINCE: Version = Version::new(0, 1, 26);

/// The first version in which the engine polls the code once for every wake-up.
const WAKE_DRIVEN_SINCE: Version = Version::new(0, 2, 0);

/// The replay rules of an execution. They never change during its life, so that a replay makes the
/// same decisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rules {
    /// Dropped waits and dequeues stop counting at the drop, not at their breadcrumb.
    pub(crate) early_race: bool,
    /// The engine polls woken futures only, until no waker fires any more. Under the older rule it
    /// polled every future exactly once for every event that could wake one.
    pub(crate) wake_driven: bool,
    /// History may lack changes of the custom status.
    pub(crate) status_unrecorded: bool,
    /// The stored keys may contain what the running execution wrote. Its first execution started
    /// without any.
    pub(crate) keys_mixed: bool,
}

impl Rules {
    /// The rules of the oldest executions.
    pub(crate) const LEGACY: Self =
        Self { early_race: false, wake_driven: false, status_unrecorded: true, keys_mixed: true };

    /// The rules of an execution pinned to `version`. A pin that does not parse gets the oldest
    /// rules.
    ///
    /// # Errors
    /// Why the engine cannot replay such an execution.
    pub(crate) fn pinned(instance: &str, version: &str) -> Result<Self, String> {
        match Version::parse(version) {
            Ok(version) => {
                let since = |first| version.cmp_precedence(first).is_ge();
                pins::refusal(&version).map_or(Ok(()), Err)?;
                Ok(Self {
                    early_race: since(&EARLY_RACE_SINCE),
                    wake_driven: since(&WAKE_DRIVEN_SINCE),
                    status_unrecorded: !since(&STATUS_RECORDED_SINCE),
                    keys_mixed: !since(&KEYS_APART_SINCE),
                })
            }
            Err(error) => {
                tracing::warn!(
                    target: "duroxide::runtime",
                    instance,
                    version,
                    %error,
                    "Invalid pinned version; retaining legacy race cancellation semantics"
                );
                Ok(Self::LEGACY)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_follow_the_pinned_version() {
        let rules = |version| {
            let rules = Rules::pinned("test", version).unwrap();
            (rules.early_race, rules.wake_driven)
        };
        assert_eq!(rules("0.1.30"), (false, false));
        assert_eq!(rules("0.1.31-rc"), (false, false));
        assert_eq!(rules("0.1.31+build"), (true, false));
        assert_eq!(rules("0.1.32"), (true, false));
        assert_eq!(rules("0.2.0"), (true, true));
        assert_eq!(rules("not a version"), (false, false));
    }
}
