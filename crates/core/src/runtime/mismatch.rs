//! What happens to an instance whose code disagrees with its history.

use semver::Version;

use super::RuntimeOptions;

/// The first version whose executions are suspended without any setting.
const SUSPENDED_SINCE: Version = Version::new(0, 2, 0);

/// What happens to an instance whose code disagrees with its history, for example because a
/// deployment changed the order of its steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MismatchPolicy {
    /// The instance fails, and its parent is notified. Nothing can bring it back.
    Fail,
    /// The instance is suspended: it keeps its history, its messages wait, and no attempt counts.
    /// It goes on when a node whose code agrees with the history takes its turn.
    Suspend,
}

impl MismatchPolicy {
    /// The policy for an execution of this orchestration, pinned to this version.
    pub(crate) fn of(options: &RuntimeOptions, orchestration: &str, pin: &str) -> Self {
        let chosen = options.mismatch_policies.get(orchestration).copied();
        chosen.or(options.mismatch_policy).unwrap_or_else(|| Self::by_pin(pin))
    }

    /// Executions that earlier versions started fail, as they did there.
    fn by_pin(pin: &str) -> Self {
        match Version::parse(pin) {
            Ok(pin) if pin.cmp_precedence(&SUSPENDED_SINCE).is_ge() => Self::Suspend,
            Ok(_) | Err(_) => Self::Fail,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_orchestration_overrides_the_runtime_which_overrides_the_pin() {
        let mut options = RuntimeOptions::default();
        assert_eq!(MismatchPolicy::of(&options, "A", "0.1.32"), MismatchPolicy::Fail);
        assert_eq!(MismatchPolicy::of(&options, "A", "no version"), MismatchPolicy::Fail);
        assert_eq!(MismatchPolicy::of(&options, "A", "0.2.0"), MismatchPolicy::Suspend);
        options = options.with_mismatch_policy(MismatchPolicy::Suspend);
        assert_eq!(MismatchPolicy::of(&options, "A", "0.1.32"), MismatchPolicy::Suspend);
        options = options.with_mismatch_policy_of("A", MismatchPolicy::Fail);
        assert_eq!(MismatchPolicy::of(&options, "A", "0.2.0"), MismatchPolicy::Fail);
        assert_eq!(MismatchPolicy::of(&options, "B", "0.2.0"), MismatchPolicy::Suspend);
    }
}
