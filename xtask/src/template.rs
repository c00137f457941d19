//! `cargo xtask template`: makes a project from the template, as `cargo generate` does, and
//! formats, lints and tests it beside the crates of this checkout. Part of `cargo xtask package`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::step::{Step, announce, root};

const TEMPLATE: &str = "templates/service";
const PROJECT: &str = "target/template/my-service";

/// What `cargo generate` asks its user for, or derives from that.
const PLACEHOLDERS: &[(&str, &str)] = &[
    ("{{project-name}}", "my-service"),
    ("{{crate_name}}", "my_service"),
    ("{{description}}", "Welcomes new users"),
];

/// Begins a placeholder or a tag of the template language.
const MARKS: &[&str] = &["{{", "{%"];

/// The settings of the template itself, which are not part of a project.
const SETTINGS: &str = "cargo-generate.toml";

/// Makes the project and checks it.
pub(crate) fn run() -> Result<(), String> {
    let started = Instant::now();
    let project = root().join(PROJECT);
    if project.exists() {
        fs::remove_dir_all(&project).map_err(|error| named(&project, &error))?;
    }
    copy_folder(&root().join(TEMPLATE), &project)?;
    join_workspace(&project)?;
    let manifest = format!("{PROJECT}/Cargo.toml");
    let place = ["--manifest-path", manifest.as_str()];
    let shared = [&place[..], &["--target-dir", "target"]].concat();
    let format = [&["fmt", "--check"][..], &place].concat();
    Step { name: "template: format", cargo: &format, env: &[] }.run()?;
    let lints = [&["clippy", "--all-targets"][..], &shared, &["--", "-D", "warnings"]].concat();
    Step { name: "template: lints", cargo: &lints, env: &[] }.run()?;
    let tests = [&["test", "--quiet"][..], &shared].concat();
    Step { name: "template: tests", cargo: &tests, env: &[] }.run()?;
    let elapsed = started.elapsed().as_secs_f64();
    announce(&format!("template: a new project passes in {elapsed:.1} s"));
    Ok(())
}

fn copy_folder(from: &Path, to: &Path) -> Result<(), String> {
    fs::create_dir_all(to).map_err(|error| named(to, &error))?;
    for entry in fs::read_dir(from).map_err(|error| named(from, &error))? {
        let entry = entry.map_err(|error| named(from, &error))?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if source.is_dir() {
            copy_folder(&source, &target)?;
        } else if entry.file_name() != SETTINGS {
            let text = fs::read_to_string(&source).map_err(|error| named(&source, &error))?;
            let text = filled_in(&text).map_err(|left| format!("{}: {left}", source.display()))?;
            fs::write(&target, text).map_err(|error| named(&target, &error))?;
        }
    }
    Ok(())
}

/// The text with values in place of the placeholders.
fn filled_in(text: &str) -> Result<String, String> {
    let mut text = text.to_owned();
    for (placeholder, value) in PLACEHOLDERS {
        text = text.replace(placeholder, value);
    }
    match text.lines().find(|line| MARKS.iter().any(|mark| line.contains(mark))) {
        Some(line) => Err(format!("'{line}' has a placeholder that is not known")),
        None => Ok(text),
    }
}

/// Lets the project find the crates of this checkout, with the profiles, the locked dependencies
/// and so the compiled crates of the workspace, but not its settings for formatting.
fn join_workspace(project: &Path) -> Result<(), String> {
    let read = |path: PathBuf| fs::read_to_string(&path).map_err(|error| named(&path, &error));
    let manifest = project.join("Cargo.toml");
    let own = read(manifest.clone())?;
    let text = joined(&own, &read(root().join("Cargo.toml"))?, &root().join("crates/duroxide"));
    let write =
        |path: PathBuf, text: &str| fs::write(&path, text).map_err(|error| named(&path, &error));
    write(manifest, &text)?;
    write(project.join("Cargo.lock"), &read(root().join("Cargo.lock"))?)?;
    write(project.join("rustfmt.toml"), "# The defaults.\n")
}

fn joined(own: &str, workspace: &str, facade: &Path) -> String {
    let profiles = workspace.find("\n[profile.").map_or("", |at| &workspace[at..]);
    let path = facade.display();
    format!("{own}\n[workspace]\n\n[patch.crates-io]\nduroxide = {{ path = '{path}' }}\n{profiles}")
}

fn named(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_filled_in_and_unknown_ones_are_refused() {
        assert_eq!(filled_in("use {{crate_name}}::x;"), Ok("use my_service::x;".to_owned()));
        assert!(filled_in("a\n{{author}}").is_err_and(|left| left.contains("{{author}}")));
        assert!(filled_in("{% if x %}").is_err());
    }

    #[test]
    fn a_project_finds_the_checkout_under_the_profile_of_the_workspace() {
        let text =
            joined("[package]\n", "[workspace]\n\n[profile.dev]\ndebug = 1\n", "/x".as_ref());
        assert!(text.contains("\n[patch.crates-io]\nduroxide = { path = '/x' }\n"), "{text}");
        assert!(text.ends_with("\n[profile.dev]\ndebug = 1\n"), "{text}");
    }

    #[test]
    fn the_template_has_the_clippy_settings_of_the_guide() {
        let guide = include_str!("../../docs/testing.md");
        let settings = guide.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next());
        let template = include_str!("../../templates/service/clippy.toml");
        assert!(template.ends_with(settings.expect("the guide has the settings")), "{template}");
    }
}
