//! `cargo xtask package`: packs every published crate, unpacks the archives, and builds and
//! doc-tests what they hold, as a user who downloads them would. Then it checks the template.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::metadata::{Metadata, Package};
use crate::step::{Step, announce, root};
use crate::template;

/// Where the archives are unpacked. `target/package` belongs to cargo.
const UNPACKED: &str = "target/unpacked";

/// Files that every archive holds beside the sources.
const REQUIRED: &[&str] = &["README.md", "LICENSE"];

/// Manifest of the unpacked crates. They share the target directory of the project, where their
/// dependencies are built already.
const MANIFEST: &str = "target/unpacked/Cargo.toml";

/// Packs, unpacks and checks.
pub(crate) fn run() -> Result<(), String> {
    let started = Instant::now();
    let metadata = Metadata::read()?;
    let published: Vec<&Package> = metadata.published().collect();
    let mut pack =
        vec!["package", "--quiet", "--no-verify", "--allow-dirty", "--target-dir", "target"];
    pack.extend(published.iter().flat_map(|package| ["--package", package.name.as_str()]));
    Step { name: "package: pack", cargo: &pack, env: &[] }.run()?;
    unpack(&published)?;
    check_files(&published)?;
    write_workspace(&published)?;
    let build = ["build", "--workspace", "--all-features", "--lib", "--bins", "--examples"];
    for (name, command) in [
        ("package: build", &build[..]),
        ("package: doc tests", &["test", "--doc", "--workspace", "--all-features"]),
    ] {
        let place = ["--manifest-path", MANIFEST, "--target-dir", "target"];
        Step { name, cargo: &[command, &place].concat(), env: &[] }.run()?;
    }
    let elapsed = started.elapsed().as_secs_f64();
    announce(&format!("package: {} crates in {elapsed:.1} s", published.len()));
    template::run()
}

fn unpack(published: &[&Package]) -> Result<(), String> {
    let folder = root().join(UNPACKED);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(|error| named(&folder, &error))?;
    }
    std::fs::create_dir_all(&folder).map_err(|error| named(&folder, &error))?;
    for package in published {
        let archive = root().join("target/package").join(format!("{}.crate", package.folder()));
        // Archives carry one fixed time for all files, by which cargo would take them for those of
        // the run before.
        let status = Command::new("tar").arg("-xmzf").arg(&archive).arg("-C").arg(&folder).status();
        let status = status.map_err(|error| format!("tar cannot be started: {error}"))?;
        if !status.success() {
            return Err(format!("{} cannot be unpacked ({status})", archive.display()));
        }
    }
    Ok(())
}

fn check_files(published: &[&Package]) -> Result<(), String> {
    for package in published {
        for file in REQUIRED {
            let path = root().join(UNPACKED).join(package.folder()).join(file);
            let text = std::fs::read_to_string(&path).map_err(|error| named(&path, &error))?;
            // A checkout without symbolic links holds the path of the target instead of its text.
            if text.lines().count() < 2 {
                return Err(format!("{} is a link without its content", path.display()));
            }
        }
    }
    Ok(())
}

/// Makes the unpacked crates a workspace in which they find each other, with the profile and the
/// locked dependencies of the project.
fn write_workspace(published: &[&Package]) -> Result<(), String> {
    let folder = root().join(UNPACKED);
    let project = root().join("Cargo.toml");
    let project = std::fs::read_to_string(&project).map_err(|error| named(&project, &error))?;
    let manifest = folder.join("Cargo.toml");
    std::fs::write(&manifest, workspace(published, &project))
        .map_err(|error| named(&manifest, &error))?;
    let lock = folder.join("Cargo.lock");
    std::fs::copy(root().join("Cargo.lock"), &lock).map_err(|error| named(&lock, &error))?;
    Ok(())
}

fn workspace(published: &[&Package], project: &str) -> String {
    let mut text = "[workspace]\nresolver = \"3\"\nmembers = [\"*-*\"]\n".to_owned();
    text.push_str("\n[patch.crates-io]\n");
    for package in published {
        let (name, folder) = (&package.name, package.folder());
        writeln!(text, "{name} = {{ path = \"{folder}\" }}").expect("a string takes any text");
    }
    if let Some(profiles) = project.find("\n[profile.") {
        text.push_str(&project[profiles..]);
    }
    text
}

fn named(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unpacked_crates_find_each_other_under_the_profile_of_the_project() {
        let package = Package::example("duroxide-core", None);
        let text = workspace(&[&package], "[workspace]\n\n[profile.dev]\ndebug = 1\n");
        assert!(text.contains("\nduroxide-core = { path = \"duroxide-core-1.0.0\" }\n"), "{text}");
        assert!(text.ends_with("\n[profile.dev]\ndebug = 1\n"), "{text}");
    }
}
