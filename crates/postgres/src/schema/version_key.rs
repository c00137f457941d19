//! Versions as bytes that compare as the versions do, so that the database can filter by them.

use semver::{Prerelease, Version};

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

/// The version of a key, without build metadata.
pub(crate) fn version_from_key(key: &[u8]) -> Option<Version> {
    let (numbers, mut rest) = key.split_at_checked(3 * size_of::<u64>())?;
    let mut numbers = numbers.chunks_exact(size_of::<u64>());
    let mut number = || Some(u64::from_be_bytes(numbers.next()?.try_into().ok()?));
    let mut version = Version::new(number()?, number()?, number()?);
    let mut identifiers = Vec::new();
    loop {
        let (kind, behind) = rest.split_first()?;
        let behind = match *kind {
            RELEASE | END => break,
            NUMERIC => behind.get(size_of::<u32>()..)?,
            _text => behind,
        };
        let end = behind.iter().position(|byte| *byte == END)?;
        identifiers.push(str::from_utf8(behind.get(..end)?).ok()?);
        rest = behind.get(end + 1..)?;
    }
    version.pre = Prerelease::new(&identifiers.join(".")).ok()?;
    Some(version)
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

        #[test]
        fn a_key_holds_its_version(version in versions()) {
            prop_assert_eq!(version_from_key(&version_key(&version)), Some(version));
        }
    }
}
