//! Versions as bytes that compare as the versions do, so that the database can filter by them.

use semver::Version;

// Each ends the part before it. A release sorts after all its pre-releases.
const END: u8 = 0;
const NUMERIC: u8 = 1;
const TEXT: u8 = 2;
const RELEASE: u8 = 3;

/// The key of a version, by precedence: build metadata does not count.
pub(crate) fn version_key(version: &Version) -> Vec<u8> {
    let mut key = Vec::with_capacity(32);
    for number in [version.major, version.minor, version.patch] {
        key.extend(number.to_be_bytes());
    }
    if version.pre.is_empty() {
        key.push(RELEASE);
        return key;
    }
    for identifier in version.pre.as_str().split('.') {
        if identifier.bytes().all(|byte| byte.is_ascii_digit()) {
            // A longer number is larger: there are no leading zeros.
            key.push(NUMERIC);
            key.extend(u32::try_from(identifier.len()).unwrap_or(u32::MAX).to_be_bytes());
        } else {
            key.push(TEXT);
        }
        key.extend(identifier.bytes());
        key.push(END);
    }
    key.push(END);
    key
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn versions() -> impl Strategy<Value = Version> {
        let identifier = "(0|[1-9][0-9]{0,3}|[a-zA-Z-][0-9a-zA-Z-]{0,3})";
        let number = prop_oneof![0u64..3, Just(u64::MAX), 250u64..260];
        (number.clone(), number.clone(), number, proptest::collection::vec(identifier, 0..4))
            .prop_map(|(major, minor, patch, pre)| {
                let mut text = format!("{major}.{minor}.{patch}");
                if !pre.is_empty() {
                    text = format!("{text}-{}", pre.join("."));
                }
                Version::parse(&text).unwrap()
            })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn keys_compare_as_versions_do(one in versions(), other in versions()) {
            let by_key = version_key(&one).cmp(&version_key(&other));
            prop_assert_eq!(by_key, one.cmp_precedence(&other));
        }
    }
}
