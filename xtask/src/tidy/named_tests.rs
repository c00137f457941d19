//! Tests that a page names exist.

use std::collections::BTreeSet;

use super::source::Source;
use super::violation::Violation;

/// The pages whose code spans of the form `suite::module::test` name tests.
const PAGES: &[&str] = &["docs/internals/upgrade-tests.md", "docs/internals/hostile-tests.md"];

/// Every test that one of the pages names is a function.
pub(super) fn exist(sources: &[Source]) -> Vec<Violation> {
    let functions: BTreeSet<&str> =
        sources.iter().flat_map(Source::code).filter_map(|(_, code)| function(code)).collect();
    let pages = sources.iter().filter(|source| PAGES.contains(&source.path.as_str()));
    let mut violations = Vec::new();
    for page in pages {
        for (index, line) in page.lines.iter().enumerate() {
            for name in named(line).filter(|name| !functions.contains(name)) {
                violations.push(page.violation(index + 1, format!("there is no test '{name}'")));
            }
        }
    }
    violations
}

/// The name of the function that a line declares.
fn function(code: &str) -> Option<&str> {
    let (_, rest) = code.split_once("fn ")?;
    let end = rest.find(|c: char| c != '_' && !c.is_ascii_alphanumeric())?;
    Some(&rest[..end]).filter(|name| !name.is_empty())
}

/// The last part of each path in code spans. Words with other characters are no paths of tests.
fn named(line: &str) -> impl Iterator<Item = &str> {
    let is_path = |span: &&str| {
        span.contains("::")
            && span
                .chars()
                .all(|c| c == '_' || c == ':' || c.is_ascii_lowercase() || c.is_ascii_digit())
    };
    let spans = line.split('`').skip(1).step_by(2).filter(is_path);
    spans.filter_map(|span| span.rsplit("::").next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_does_not_exist_is_a_violation() {
        let page = "| 1 | `a::b::is_there` and `a::gone` |\n`conformance::…`, `Type::method`\n";
        let code = "//! x\npub async fn is_there<F>(f: F) {}\n";
        let sources = [Source::new(PAGES[0], page), Source::new("crates/a/tests/b.rs", code)];
        let found = exist(&sources);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].line, found[0].what.as_str()), (1, "there is no test 'gone'"));
    }
}
