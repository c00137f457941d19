//! The paths of its own crate that a file names.

use super::source::Source;

const CRATE: &str = "crate::";
const PARENT: &str = "super::";

/// Everything named after `crate::` or `super::` outside tests, with groups unfolded, as a path
/// from the root of the crate. `module` is the path of the module that the file holds.
pub(super) fn used_paths(source: &Source, module: &[String]) -> Vec<(usize, Vec<String>)> {
    let mut text = String::new();
    let mut line_starts = Vec::new();
    for (line, code) in source.product_code() {
        line_starts.push((text.len(), line));
        text.push_str(code);
        text.push('\n');
    }
    let line_at = |at: usize| {
        let after = line_starts.partition_point(|(start, _)| *start <= at);
        line_starts[after - 1].1
    };
    let mut paths = Vec::new();
    let mut add = |begin: usize, prefix: &[String]| {
        let mut unfolded = Vec::new();
        unfold(&text[begin..], begin, prefix, &mut unfolded);
        paths.extend(unfolded.into_iter().map(|(at, path)| (line_at(at), path)));
    };
    for (at, root) in text.match_indices(CRATE) {
        if !continues_a_word(&text, at) {
            add(at + root.len(), &[]);
        }
    }
    for (at, _) in text.match_indices(PARENT) {
        if continues_a_word(&text, at) {
            continue;
        }
        let levels = text[at..].matches_at_start(PARENT);
        let parent = &module[..module.len().saturating_sub(levels)];
        add(at + levels * PARENT.len(), parent);
    }
    paths
}

trait Repeated {
    fn matches_at_start(&self, part: &str) -> usize;
}

impl Repeated for str {
    // How often the text begins with a part.
    fn matches_at_start(&self, part: &str) -> usize {
        let mut rest = self;
        let mut count = 0;
        while let Some(next) = rest.strip_prefix(part) {
            rest = next;
            count += 1;
        }
        count
    }
}

// `a::super::b` is counted at its first `super`, and `my_crate::a` is another crate.
fn continues_a_word(text: &str, at: usize) -> bool {
    let before = text[..at].chars().next_back();
    before.is_some_and(|before| before.is_alphanumeric() || before == '_' || before == ':')
}

// Reads one tree of a `use`, or one path in code; returns how many bytes it took.
fn unfold(
    text: &str,
    at: usize,
    prefix: &[String],
    found: &mut Vec<(usize, Vec<String>)>,
) -> usize {
    let name_len = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let (name, rest) = text.split_at(name_len);
    if name.is_empty() {
        return unfold_group(text, at, prefix, found);
    }
    let mut path = prefix.to_vec();
    path.push(name.to_owned());
    if let Some(inner) = rest.strip_prefix("::") {
        return name_len + 2 + unfold(inner, at + name_len + 2, &path, found);
    }
    found.push((at, path));
    name_len
}

fn unfold_group(
    text: &str,
    at: usize,
    prefix: &[String],
    found: &mut Vec<(usize, Vec<String>)>,
) -> usize {
    if !text.starts_with('{') {
        // A glob: everything of the prefix.
        found.push((at, prefix.to_vec()));
        return 1.min(text.len());
    }
    let mut taken = 1;
    while let Some(next) = text[taken..].chars().next() {
        match next {
            '}' => return taken + 1,
            _ if next.is_alphanumeric() || "_{*".contains(next) => {
                taken += unfold(&text[taken..], at + taken, prefix, found);
            }
            _ => taken += next.len_utf8(),
        }
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(code: &str) -> Vec<(usize, String)> {
        let module: Vec<String> = ["runtime", "turns", "report"].map(str::to_owned).into();
        let found = used_paths(&Source::new("a.rs", code), &module);
        found.into_iter().map(|(line, path)| (line, path.join("::"))).collect()
    }

    #[test]
    fn groups_and_globs_are_unfolded() {
        let found = paths("use crate::{\n    model::{Event, a::B},\n    runtime::*,\n};\n");
        let expected = [(2, "model::Event"), (2, "model::a::B"), (3, "runtime")];
        assert_eq!(found, expected.map(|(line, path)| (line, path.to_owned())));
    }

    #[test]
    fn parents_are_resolved() {
        let found = paths("use super::{A, b::C};\nuse super::super::fast_path::D;\n");
        let expected =
            [(1, "runtime::turns::A"), (1, "runtime::turns::b::C"), (2, "runtime::fast_path::D")];
        assert_eq!(found, expected.map(|(line, path)| (line, path.to_owned())));
    }

    #[test]
    fn other_crates_are_not_paths_of_this_one() {
        assert!(paths("use my_crate::a;\npub(super) fn a() {}").is_empty());
        assert_eq!(paths("crate::a::b(1)"), [(1, "a::b".to_owned())]);
    }
}
