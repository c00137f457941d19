//! Which recorded histories this engine can replay.

use semver::Version;

/// The first release whose histories this engine can replay. Releases before it recorded system
/// calls in another form and detached starts not at all, and up to 0.1.11 operations in another
/// order.
pub(crate) const OLDEST: Version = Version::new(0, 1, 14);

/// The last release of 0.1 whose rules this engine knows. A later one may have others.
pub(crate) const NEWEST_OF_0_1: Version = Version::new(0, 1, 32);

/// The first release of this engine.
pub(crate) const FIRST_OF_0_2: Version = Version::new(0, 2, 0);

/// Why this engine cannot replay an execution pinned to `pin`, if it cannot. Pins above this build
/// are not refused: an operator who lists them for a node knows what they are.
pub(crate) fn refusal(pin: &Version) -> Option<String> {
    let too_old = pin.cmp_precedence(&OLDEST).is_lt();
    let unknown = pin.cmp_precedence(&NEWEST_OF_0_1).is_gt() && (pin.major, pin.minor) == (0, 1);
    (too_old || unknown).then(|| {
        format!("it is pinned at version {pin}, and this release replays histories {}", supported())
    })
}

/// The versions whose histories this engine can replay, for texts.
pub(crate) fn supported() -> String {
    format!("of {OLDEST} to {NEWEST_OF_0_1} and from {FIRST_OF_0_2} on")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_the_known_versions_can_be_replayed() {
        let refused = |pin| refusal(&Version::parse(pin).unwrap()).is_some();
        for known in ["0.1.14", "0.1.31", "0.1.32", "0.1.32+build", "0.2.0-rc.1", "0.2.0", "9.0.0"]
        {
            assert!(!refused(known), "{known}");
        }
        for unknown in ["0.0.1", "0.1.0", "0.1.13", "0.1.14-rc", "0.1.33-rc", "0.1.33", "0.1.99"] {
            assert!(refused(unknown), "{unknown}");
        }
    }
}
