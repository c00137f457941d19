//! Lets a process act as another version of Duroxide, for tests of upgrades.

use std::sync::OnceLock;

use semver::Version;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// The version in which the kinds of events of this feature appear.
const SINCE: Version = Version::new(2, 0, 0);

/// Text and value of the version that this process acts as.
static ACTING_AS: OnceLock<(String, Version)> = OnceLock::new();

/// Makes this process act as `version`, for good.
pub(crate) fn act_as(version: &str) {
    let parsed = match Version::parse(version) {
        Ok(parsed) => parsed,
        Err(error) => panic!("'{version}' is not a version: {error}"),
    };
    let (chosen, _) = ACTING_AS.get_or_init(|| (version.to_owned(), parsed));
    assert_eq!(chosen, version, "this process already acts as another version");
}

/// The version that this process acts as, if it does.
pub(super) fn acting_as() -> Option<&'static str> {
    ACTING_AS.get().map(|(text, _)| text.as_str())
}

/// Decodes a text that only newer versions write. A process that acts as an older one fails, as a
/// build without the feature does.
pub(super) fn text_of_version_two<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<String, D::Error> {
    if let Some((text, version)) = ACTING_AS.get()
        && version.cmp_precedence(&SINCE).is_lt()
    {
        return Err(D::Error::custom(format!("unknown variant for version {text}")));
    }
    String::deserialize(deserializer)
}
