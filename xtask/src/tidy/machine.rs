//! Nothing in the source depends on the machine that it was written on.

use super::source::Source;
use super::violation::Violation;

// First parts of paths that only exist on one machine.
const HOMES: &[&str] = &["home", "root", "work", "Users"];
const STANDARD_REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// No path of one developer's machine.
pub(super) fn no_absolute_paths(source: &Source) -> Vec<Violation> {
    let lines = source.lines.iter().enumerate();
    lines
        .filter(|(_, line)| HOMES.iter().any(|home| names_path_below(line, home)))
        .map(|(index, _)| source.violation(index + 1, "absolute path of a machine"))
        .collect()
}

/// `Cargo.lock` names the standard index and nothing else.
pub(super) fn standard_registry_only(source: &Source) -> Vec<Violation> {
    if source.file_name() != "Cargo.lock" {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (index, line) in source.lines.iter().enumerate() {
        let Some(registry) = line.strip_prefix("source = ") else { continue };
        if registry.trim_matches('"') != STANDARD_REGISTRY {
            found.push(source.violation(index + 1, format!("unusual source {registry}")));
        }
    }
    found
}

// A path begins with its slash: what stands before it must not be part of a longer path.
fn names_path_below(line: &str, home: &str) -> bool {
    let pattern = format!("/{home}/");
    line.match_indices(&pattern).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "._-/*{}<>$".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_a_machine_are_found() {
        for home in HOMES {
            for before in ["", "\"", "see ", "file="] {
                let text = format!("a\n{before}/{home}/x");
                let found = no_absolute_paths(&Source::new("a.md", &text));
                assert_eq!(found.len(), 1, "{text}");
                assert_eq!(found[0].line, 2);
            }
        }
    }

    #[test]
    fn relative_paths_and_addresses_are_fine() {
        for home in HOMES {
            let text = format!("src/{home}/x https://host.org/{home}/x ../{home}/x $A/{home}/x");
            assert!(no_absolute_paths(&Source::new("a.md", &text)).is_empty(), "{text}");
        }
    }

    #[test]
    fn another_registry_is_found() {
        let text = format!("source = \"{STANDARD_REGISTRY}\"\nsource = \"git+https://x.org\"");
        let found = standard_registry_only(&Source::new("Cargo.lock", &text));
        let text = found.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(text, ["Cargo.lock:2: unusual source \"git+https://x.org\""]);
    }

    #[test]
    fn the_standard_registry_is_fine() {
        let text = format!("name = \"a\"\nsource = \"{STANDARD_REGISTRY}\"");
        assert!(standard_registry_only(&Source::new("Cargo.lock", &text)).is_empty());
    }
}
