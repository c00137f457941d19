//! The rules of `deny.toml` that can be checked without the network.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::licence;
use crate::metadata::{Metadata, Package};

/// The part of `deny.toml` that is read here.
#[derive(Deserialize)]
pub(super) struct Rules {
    licenses: Licenses,
    bans: Bans,
    sources: Sources,
}

#[derive(Deserialize)]
struct Licenses {
    allow: Vec<String>,
}

#[derive(Deserialize)]
struct Bans {
    skip: Vec<Skip>,
}

/// One version that may stand beside another of the same name.
#[derive(Deserialize)]
struct Skip {
    /// As `name@version`.
    #[serde(rename = "crate")]
    name_and_version: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Sources {
    allow_registry: Vec<String>,
}

impl Rules {
    /// Reads the file.
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|error| format!("{}: {error}", path.display()))?;
        basic_toml::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Every rule that a dependency breaks.
    pub(super) fn violations(&self, metadata: &Metadata) -> Vec<String> {
        let mut found = Vec::new();
        for package in metadata.dependencies() {
            found.extend(self.licence(package));
            found.extend(self.source(package));
            found.extend(minimum_rust(metadata, package));
        }
        found.extend(self.duplicates(metadata));
        found
    }

    fn licence(&self, package: &Package) -> Option<String> {
        let licence = package.license.as_deref().unwrap_or_default();
        let allowed = licence::is_allowed(licence, &self.licenses.allow);
        (!allowed).then(|| format!("{}: licence '{licence}' is not allowed", package.folder()))
    }

    fn source(&self, package: &Package) -> Option<String> {
        let source = package.source.as_deref().unwrap_or_default();
        let registry = source.strip_prefix("registry+").unwrap_or(source);
        let allowed = self.sources.allow_registry.iter().any(|allowed| allowed == registry);
        (!allowed).then(|| format!("{}: source {source} is not allowed", package.folder()))
    }

    fn duplicates(&self, metadata: &Metadata) -> Vec<String> {
        let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for package in metadata.dependencies().filter(|package| !self.is_skipped(package)) {
            versions.entry(&package.name).or_default().push(&package.version);
        }
        let several = versions.into_iter().filter(|(_, versions)| versions.len() > 1);
        several
            .map(|(name, versions)| format!("{name}: several versions: {}", versions.join(", ")))
            .collect()
    }

    fn is_skipped(&self, package: &Package) -> bool {
        let name = format!("{}@{}", package.name, package.version);
        self.bans.skip.iter().any(|skip| skip.name_and_version == name)
    }
}

/// A dependency that needs a newer compiler than the one that this workspace promises.
fn minimum_rust(metadata: &Metadata, package: &Package) -> Option<String> {
    let ours = metadata.published().filter_map(rust).min()?;
    let theirs = rust(package)?;
    (theirs > ours).then(|| {
        let (major, minor) = theirs;
        format!("{}: needs Rust {major}.{minor}, which is newer than ours", package.folder())
    })
}

fn rust(package: &Package) -> Option<(u32, u32)> {
    let mut parts = package.rust_version.as_deref()?.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &str = r#"
        [licenses]
        allow = ["MIT"]
        [bans]
        skip = [{ crate = "old@1.0.0", reason = "two parents need two versions" }]
        [sources]
        allow-registry = ["https://index.example"]
    "#;

    fn violations(change: impl FnOnce(&mut Vec<Package>)) -> Vec<String> {
        let source = Some("registry+https://index.example");
        let mut packages = vec![Package::example("ours", None), Package::example("theirs", source)];
        packages[0].rust_version = Some("1.89".to_owned());
        change(&mut packages);
        let rules: Rules = basic_toml::from_str(RULES).unwrap();
        rules.violations(&Metadata { packages })
    }

    #[test]
    fn a_dependency_that_keeps_the_rules_is_silent() {
        assert!(violations(|_packages| {}).is_empty());
    }

    #[test]
    fn licence_source_and_minimum_rust_are_checked() {
        let found = violations(|packages| {
            packages[1].license = Some("GPL-3.0".to_owned());
            packages[1].source = Some("git+https://elsewhere.example".to_owned());
            packages[1].rust_version = Some("1.90.0".to_owned());
        });
        assert_eq!(found.len(), 3, "{found:?}");
    }

    #[test]
    fn a_second_version_is_a_violation_unless_it_is_listed() {
        let add = |name: &'static str| {
            move |packages: &mut Vec<Package>| {
                let source = Some("registry+https://index.example");
                packages.push(Package::example(name, source));
                packages.push(Package::example(name, source));
                packages[3].version = "2.0.0".to_owned();
            }
        };
        assert_eq!(violations(add("theirs")).len(), 1);
        assert!(violations(add("old")).is_empty());
    }
}
