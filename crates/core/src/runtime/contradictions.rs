//! Options with which a node could do no work.

use std::time::Duration;

use super::RuntimeOptions;
use crate::limits::MAX_WORKER_TAGS;
use crate::providers::{SemverRange, TagFilter};

impl RuntimeOptions {
    /// Like [`validate`](Self::validate), and refuses options with which a node could do no work.
    /// The calls of 0.1.x start a node with those.
    ///
    /// # Errors
    /// The first contradiction, as a text.
    pub fn check(&self) -> Result<(), String> {
        self.validate()?;
        if self.max_attempts == 0 {
            return Err("max_attempts (0) must be at least 1: all work would be poison".to_owned());
        }
        for (name, lease) in [
            ("orchestrator_lock_timeout", self.orchestrator_lock_timeout),
            ("worker_lock_timeout", self.worker_lock_timeout),
            ("session_lock_timeout", self.session_lock_timeout),
        ] {
            if lease < Duration::from_millis(1) {
                return Err(format!(
                    "{name} ({lease:?}) must be at least 1ms: a lease would expire at once"
                ));
            }
        }
        check_ranges("supported_replay_versions", self.supported_replay_versions.as_slice())?;
        check_ranges("further_replay_versions", &self.further_replay_versions)?;
        check_tags(&self.worker_tag_filter)
    }
}

fn check_ranges(name: &str, ranges: &[SemverRange]) -> Result<(), String> {
    match ranges.iter().find(|range| range.min.cmp_precedence(&range.max).is_gt()) {
        Some(SemverRange { min, max }) => {
            Err(format!("{name} ({min} to {max}) contains no version: its ends are reversed"))
        }
        None => Ok(()),
    }
}

fn check_tags(filter: &TagFilter) -> Result<(), String> {
    let (TagFilter::Tags(tags) | TagFilter::DefaultAnd(tags)) = filter else { return Ok(()) };
    match tags.len() {
        0 => Err("worker_tag_filter names no tag: use default_only() or none()".to_owned()),
        1..=MAX_WORKER_TAGS => Ok(()),
        count => Err(format!("worker_tag_filter names {count} tags, at most {MAX_WORKER_TAGS}")),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use semver::Version;

    use super::*;

    fn refusal(change: impl FnOnce(&mut RuntimeOptions)) -> String {
        let mut options = RuntimeOptions::default();
        change(&mut options);
        options.check().unwrap_err()
    }

    #[test]
    fn the_first_word_of_a_refusal_is_the_option() {
        assert_eq!(RuntimeOptions::default().check(), Ok(()));
        let reversed = || SemverRange::new(Version::new(2, 0, 0), Version::new(1, 0, 0));
        let many: HashSet<String> = (0..9).map(|tag| tag.to_string()).collect();
        let refusals = [
            ("session_idle_timeout", refusal(|it| it.session_idle_timeout = Duration::ZERO)),
            ("max_attempts", refusal(|it| it.max_attempts = 0)),
            ("worker_lock_timeout", refusal(|it| it.worker_lock_timeout = Duration::ZERO)),
            (
                "orchestrator_lock_timeout",
                refusal(|it| it.orchestrator_lock_timeout = Duration::ZERO),
            ),
            ("session_lock_timeout", refusal(|it| it.session_lock_timeout = Duration::ZERO)),
            (
                "supported_replay_versions",
                refusal(|it| it.supported_replay_versions = Some(reversed())),
            ),
            (
                "further_replay_versions",
                refusal(|it| it.further_replay_versions = vec![reversed()]),
            ),
            (
                "worker_tag_filter",
                refusal(|it| it.worker_tag_filter = TagFilter::Tags(HashSet::new())),
            ),
            ("worker_tag_filter", refusal(|it| it.worker_tag_filter = TagFilter::DefaultAnd(many))),
        ];
        for (option, refusal) in refusals {
            assert!(refusal.starts_with(option), "{option}: {refusal}");
        }
    }
}
