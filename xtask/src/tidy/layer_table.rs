//! The tables of layers in `ARCHITECTURE.md`.

const HEADER: &str = "| module | uses |";

/// One row: a module and the modules that it uses.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// Path of the module below the crate, with `::` between its parts.
    pub(super) module: String,
    /// The parts of that path.
    pub(super) path: Vec<String>,
    /// What the module uses.
    pub(super) uses: Vec<String>,
    /// Line of the row, from 1.
    pub(super) line: usize,
}

/// Reads all tables whose columns begin with `module` and `uses`.
pub(super) fn parse(lines: &[String]) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut in_table = false;
    for (index, line) in lines.iter().enumerate() {
        in_table = line.starts_with(HEADER) || (in_table && line.starts_with('|'));
        if in_table {
            rows.extend(row(line, index + 1));
        }
    }
    rows
}

// The header and the line below it name nothing in code marks.
fn row(text: &str, line: usize) -> Option<Row> {
    let mut cells = text.trim_matches('|').split('|');
    let module = names(cells.next()?).into_iter().next()?;
    let path = module.split("::").map(str::to_owned).collect();
    Some(Row { module, path, uses: names(cells.next()?), line })
}

// What stands between code marks.
fn names(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_name_a_module_and_its_uses() {
        let text = "| module | uses | is |\n|---|---|---|\n| `a` | nothing | x |\n\
                    | `a::b` | `c`, `d` | `no` |\n\n| other | table |\n|---|---|\n| `e` | `f` |\n";
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let rows = parse(&lines);
        assert_eq!(rows.len(), 2);
        assert_eq!((rows[0].module.as_str(), rows[0].line), ("a", 3));
        assert!(rows[0].uses.is_empty());
        assert_eq!(rows[1].path, ["a", "b"]);
        assert_eq!(rows[1].uses, ["c", "d"]);
    }
}
