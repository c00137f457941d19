//! The stored form of the turns that a node announces.

use std::collections::BTreeMap;

use semver::Version;
use serde::{Deserialize, Serialize};

use super::RowError;
use crate::providers::{AnnouncedTurns, RegisteredOrchestrations, SemverRange};

#[derive(Serialize, Deserialize)]
struct Stored {
    build: String,
    replays: Vec<(String, String)>,
    orchestrations: BTreeMap<String, Vec<String>>,
}

/// The turns that a node announces, as JSON.
///
/// # Errors
/// When it has no stored form.
pub fn encode_announced_turns(turns: &AnnouncedTurns) -> Result<String, RowError> {
    let AnnouncedTurns { build, replays, orchestrations } = turns;
    let replays = replays.iter().map(|range| (range.min.to_string(), range.max.to_string()));
    let orchestrations = orchestrations
        .versions()
        .iter()
        .map(|(name, versions)| (name.clone(), versions.iter().map(ToString::to_string).collect()));
    let stored = Stored {
        build: build.to_string(),
        replays: replays.collect(),
        orchestrations: orchestrations.collect(),
    };
    serde_json::to_string(&stored).map_err(RowError::malformed)
}

/// Decodes what [`encode_announced_turns`] has made. `None` for anything else: what another build
/// announces in another form is unknown, and the other nodes are still listed.
pub fn decode_announced_turns(text: &str) -> Option<AnnouncedTurns> {
    let Stored { build, replays, orchestrations } = serde_json::from_str(text).ok()?;
    let mut ranges = Vec::new();
    for (min, max) in replays {
        ranges.push(SemverRange::new(Version::parse(&min).ok()?, Version::parse(&max).ok()?));
    }
    let mut registered = Vec::new();
    for (name, versions) in orchestrations {
        for version in versions {
            registered.push((name.clone(), Version::parse(&version).ok()?));
        }
    }
    let turns = AnnouncedTurns::none(Version::parse(&build).ok()?).with_replays(ranges);
    Some(turns.with_orchestrations(RegisteredOrchestrations::new(registered)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn announced_turns_survive_their_stored_form() {
        let none = AnnouncedTurns::none(Version::new(1, 5, 0));
        let names = [("A", Version::new(1, 0, 0)), ("A", Version::new(2, 0, 0))];
        let some = none
            .clone()
            .with_replays(vec![SemverRange::default_for_current_build()])
            .with_orchestrations(RegisteredOrchestrations::new(names));
        for turns in [none, some] {
            let text = encode_announced_turns(&turns).unwrap();
            assert_eq!(decode_announced_turns(&text), Some(turns));
        }
        assert_eq!(decode_announced_turns("{}"), None);
    }
}
