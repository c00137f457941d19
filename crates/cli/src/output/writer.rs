//! Standard output. Data goes here, everything else to standard error.

use std::io::{BufWriter, Stdout, Write};

use serde::Serialize;

use super::format::Format;
use super::style::{Styled, paint, printable, printable_lines};
use super::terminal::Terminal;
use crate::failure::{Failure, Result};
use crate::redact::redact;

/// Writes data in the format that the user chose.
#[derive(Debug)]
pub(crate) struct Out {
    stdout: BufWriter<Stdout>,
    format: Format,
    terminal: Terminal,
}

impl Out {
    /// Standard output in this format.
    pub(crate) fn new(format: Format) -> Self {
        let terminal = Terminal::of_stdout();
        Self { stdout: BufWriter::new(std::io::stdout()), format, terminal }
    }

    pub(crate) fn format(&self) -> Format {
        self.format
    }

    pub(crate) fn colours(&self) -> bool {
        self.terminal.colours
    }

    /// Columns to draw in.
    pub(crate) fn width(&self) -> usize {
        self.terminal.width
    }

    /// Columns to cut tables to, if they are cut.
    pub(crate) fn cut(&self) -> Option<usize> {
        self.terminal.cut.filter(|_| self.format == Format::Table)
    }

    /// One line.
    pub(crate) fn line(&mut self, text: &str) -> Result<()> {
        self.stdout.write_all(text.as_bytes())?;
        Ok(self.stdout.write_all(b"\n")?)
    }

    /// A stored text as it is; a terminal gets it without its control codes.
    pub(crate) fn text(&mut self, text: &str) -> Result<()> {
        match self.terminal.is_terminal {
            true => self.line(&printable_lines(text)),
            false => self.line(text),
        }
    }

    /// An id on a line of its own. Ids that such a line cannot hold are left out: as ids, their
    /// parts could name other instances.
    pub(crate) fn id(&mut self, id: &str) -> Result<()> {
        if id.is_empty() || id.contains('\n') || id.ends_with('\r') {
            return self.note(&format!("'{id}' is left out: use -o json for ids with line breaks"));
        }
        self.text(id)
    }

    /// Text in its tone.
    pub(crate) fn painted(&self, styled: &Styled) -> String {
        paint(&styled.text, styled.tone, self.colours())
    }

    /// Text as it is, without a line end of ours.
    pub(crate) fn raw(&mut self, text: &[u8]) -> Result<()> {
        Ok(self.stdout.write_all(text)?)
    }

    /// One JSON value: over several lines for `json`, on one line for `jsonl`.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> Result<()> {
        let text = match self.format {
            Format::Json => serde_json::to_string_pretty(value),
            Format::Table | Format::Wide | Format::Jsonl | Format::Ids => {
                serde_json::to_string(value)
            }
        };
        self.line(&text.map_err(not_json)?)
    }

    /// What was written so far reaches the reader now.
    pub(crate) fn flush(&mut self) -> Result<()> {
        Ok(self.stdout.flush()?)
    }

    /// A remark for people.
    pub(crate) fn note(&mut self, text: &str) -> Result<()> {
        // In order with what was written before.
        self.flush()?;
        drop(writeln!(std::io::stderr().lock(), "{}", printable(&redact(text))));
        Ok(())
    }
}

/// The types of the command become JSON whatever they contain.
pub(super) fn not_json(error: serde_json::Error) -> Failure {
    Failure::error(format!("the output cannot be written as JSON: {error}"))
}
