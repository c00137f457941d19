//! Lists of records, written while they are read.

use serde::Serialize;

use super::format::Format;
use super::style::Styled;
use super::table::Table;
use super::writer::{Out, not_json};
use crate::failure::Result;

/// One column of a list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    pub(crate) header: &'static str,
    /// Whether only `wide` shows it.
    pub(crate) wide: bool,
}

impl Column {
    /// A column that every table shows.
    pub(crate) const fn new(header: &'static str) -> Self {
        Self { header, wide: false }
    }

    /// A column that only `wide` shows.
    pub(crate) const fn wide(header: &'static str) -> Self {
        Self { header, wide: true }
    }
}

/// A row of a list. Its serialized form is the documented JSON.
pub(crate) trait Record: Serialize {
    /// All columns, in their order.
    const COLUMNS: &'static [Column];

    /// A text for every column.
    fn cells(&self) -> Vec<Styled>;

    /// What `-o ids` prints.
    fn id(&self) -> &str;
}

/// Writes records page by page, and holds none of them.
#[derive(Debug)]
pub(crate) struct List {
    table: Table,
    shown: Vec<bool>,
    written: u64,
}

impl List {
    /// A list of these records.
    pub(crate) fn of<R: Record>(out: &Out) -> Self {
        let is_shown = |column: &Column| !column.wide || out.format() == Format::Wide;
        let shown: Vec<bool> = R::COLUMNS.iter().map(is_shown).collect();
        let headers = R::COLUMNS.iter().filter(|column| is_shown(column));
        let table = Table::new(headers.map(|column| column.header).collect());
        Self { table, shown, written: 0 }
    }

    /// Writes the next records.
    pub(crate) fn page<R: Record>(&mut self, out: &mut Out, records: &[R]) -> Result<()> {
        if records.is_empty() {
            return Ok(());
        }
        match out.format() {
            Format::Table | Format::Wide => {
                let rows = records.iter().map(|record| self.shown_cells(record)).collect();
                self.table.write(out, rows)?;
            }
            Format::Json => {
                for record in records {
                    let text = serde_json::to_string(record).map_err(not_json)?;
                    out.raw(if self.written == 0 { b"[\n" } else { b",\n" })?;
                    out.raw(text.as_bytes())?;
                    self.written += 1;
                }
                return Ok(());
            }
            Format::Jsonl => records.iter().try_for_each(|record| out.json(record))?,
            Format::Ids => records.iter().try_for_each(|record| out.id(record.id()))?,
        }
        self.written += records.len() as u64;
        Ok(())
    }

    /// Ends the list.
    pub(crate) fn finish(self, out: &mut Out) -> Result<()> {
        match (out.format(), self.written) {
            (Format::Json, 0) => out.line("[]"),
            (Format::Json, _) => out.raw(b"\n]\n"),
            (Format::Table | Format::Wide | Format::Jsonl | Format::Ids, _) => Ok(()),
        }
    }

    /// Writes a list that is in memory already.
    pub(crate) fn write<R: Record>(out: &mut Out, records: &[R]) -> Result<()> {
        let mut list = Self::of::<R>(out);
        list.page(out, records)?;
        list.finish(out)
    }

    fn shown_cells<R: Record>(&self, record: &R) -> Vec<Styled> {
        let cells = record.cells().into_iter().zip(&self.shown);
        cells.filter_map(|(cell, shown)| shown.then_some(cell)).collect()
    }
}
