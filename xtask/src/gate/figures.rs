//! The format of the figures: the compiler in the first line, then lines of `name kind count`.

use std::process::Command;

/// Counted or stored figures.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Figures {
    /// Version of the compiler; another version generates other instructions.
    pub(super) compiler: String,
    /// The counts.
    pub(super) counts: Vec<Count>,
}

/// One count.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Count {
    /// Name of the hot path and the kind of count.
    pub(super) name: String,
    /// Count per operation.
    pub(super) value: f64,
}

impl Figures {
    /// Reads a text.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let mut lines = text.lines();
        let compiler = lines.next().unwrap_or_default().to_owned();
        let counts = lines.map(count).collect::<Result<_, _>>()?;
        Ok(Self { compiler, counts })
    }

    /// Writes the text.
    pub(super) fn text(&self) -> String {
        let mut text = format!("{}\n", self.compiler);
        for Count { name, value } in &self.counts {
            text.push_str(&format!("{name} {value:.1}\n"));
        }
        text
    }
}

fn count(line: &str) -> Result<Count, String> {
    let parts = line.rsplit_once(' ').and_then(|(name, value)| Some((name, value.parse().ok()?)));
    let (name, value) = parts.ok_or_else(|| format!("not a figure: {line}"))?;
    Ok(Count { name: name.to_owned(), value })
}

/// The compiler of this workspace.
pub(super) fn compiler() -> Result<String, String> {
    let output = Command::new("rustc").arg("--version").output();
    let output = output.map_err(|error| format!("rustc cannot be started: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let words: Vec<&str> = text.split_whitespace().take(2).collect();
    Ok(format!("{} {}", words.join(" "), std::env::consts::ARCH))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_back() {
        let text = "rustc 1.0.0 x86_64\na instructions 12.5\nb allocations 3.0\n";
        let figures = Figures::read(text).unwrap();
        assert_eq!(figures.counts[0], Count { name: "a instructions".to_owned(), value: 12.5 });
        assert_eq!(figures.text(), text);
        assert!(Figures::read("rustc\nnothing").is_err());
    }
}
