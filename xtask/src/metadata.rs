//! What `cargo metadata` says about the workspace and its dependencies.

use serde::Deserialize;

use crate::step::printed_by_cargo;

/// The workspace and every package that it can depend on, on the platform of this machine. Others
/// would have to be downloaded.
#[derive(Deserialize)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
}

/// One package.
#[derive(Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    /// `None` for the packages of the workspace.
    pub(crate) source: Option<String>,
    pub(crate) license: Option<String>,
    pub(crate) rust_version: Option<String>,
    /// Registries that it may be published to; `None` means any.
    publish: Option<Vec<String>>,
}

impl Metadata {
    /// Asks cargo.
    pub(crate) fn read() -> Result<Self, String> {
        let mut arguments = vec!["metadata", "--format-version", "1", "--locked"];
        let platform = platform()?;
        arguments.extend(["--all-features", "--filter-platform", &platform]);
        let text = printed_by_cargo(&arguments)?;
        serde_json::from_str(&text).map_err(|error| format!("cargo metadata: {error}"))
    }

    /// Packages of the workspace.
    pub(crate) fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| package.source.is_none())
    }

    /// Packages of the workspace that are published.
    pub(crate) fn published(&self) -> impl Iterator<Item = &Package> {
        self.members().filter(|package| package.publish.is_none())
    }

    /// Packages from elsewhere.
    pub(crate) fn dependencies(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| package.source.is_some())
    }
}

fn platform() -> Result<String, String> {
    let text = printed_by_cargo(&["--version", "--verbose"])?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| format!("cargo names no host: {text}"))
}

impl Package {
    /// Name of its archive and of the folder in it.
    pub(crate) fn folder(&self) -> String {
        format!("{}-{}", self.name, self.version)
    }

    #[cfg(test)]
    pub(crate) fn example(name: &str, source: Option<&str>) -> Self {
        Self {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            source: source.map(str::to_owned),
            license: Some("MIT".to_owned()),
            rust_version: None,
            publish: None,
        }
    }
}
