//! Replay rules. The version that an execution is pinned to selects them.

use semver::Version;

/// The first version in which a dropped wait stops counting at the drop.
const EARLY_RACE_SINCE: Version = Version::new(0, 1, 31);

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
}

impl Rules {
    /// The rules of the oldest executions.
    pub(crate) const LEGACY: Self = Self { early_race: false, wake_driven: false };

    /// The rules of an execution pinned to `version`. A pin that does not parse gets the oldest
    /// rules.
    pub(crate) fn pinned(instance: &str, version: &str) -> Self {
        match Version::parse(version) {
            Ok(version) => Self {
                early_race: version.cmp_precedence(&EARLY_RACE_SINCE).is_ge(),
                wake_driven: version.cmp_precedence(&WAKE_DRIVEN_SINCE).is_ge(),
            },
            Err(error) => {
                tracing::warn!(
                    target: "duroxide::runtime",
                    instance,
                    version,
                    %error,
                    "Invalid pinned version; retaining legacy race cancellation semantics"
                );
                Self::LEGACY
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
            let rules = Rules::pinned("test", version);
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
