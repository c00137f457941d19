//! One thing with its properties, a line for each.

use serde::Serialize;

use super::format::Format;
use super::style::{Styled, Tone, paint, printable};
use super::width::width;
use super::writer::Out;
use crate::failure::Result;

/// The properties of one thing. Empty ones are left out.
#[derive(Debug, Default)]
pub(crate) struct Details {
    lines: Vec<(&'static str, Styled)>,
}

impl Details {
    /// Adds a property.
    #[must_use]
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<Styled>) -> Self {
        self.lines.push((name, value.into()));
        self
    }

    /// Adds a property if there is a value.
    #[must_use]
    pub(crate) fn with_some<T: Into<Styled>>(self, name: &'static str, value: Option<T>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// Writes the thing in the chosen format; `value` is its documented JSON.
    pub(crate) fn write(self, out: &mut Out, id: &str, value: &impl Serialize) -> Result<()> {
        match out.format() {
            Format::Table | Format::Wide => self.lines(out),
            Format::Json | Format::Jsonl => out.json(value),
            Format::Ids => out.id(id),
        }
    }

    /// Writes the lines for people.
    pub(crate) fn lines(self, out: &mut Out) -> Result<()> {
        let room = self.lines.iter().map(|(name, _)| width(name)).max().unwrap_or(0);
        for (name, value) in self.lines {
            let padding = " ".repeat(room - width(name));
            let name = paint(name, Tone::Faint, out.colours());
            let value = paint(&printable(&value.text), value.tone, out.colours());
            out.line(format!("{name}{padding}  {value}").trim_end())?;
        }
        Ok(())
    }
}
