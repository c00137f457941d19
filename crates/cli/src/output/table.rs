//! Columns of text.

use super::style::Tone;
use super::style::{Styled, paint, printable};
use super::width::{beginning, width};
use super::writer::Out;
use crate::failure::Result;

const GAP: &str = "  ";
const CUT: char = '…';
/// No column is cut below this, so that ids stay recognizable.
const COLUMN_MIN: usize = 8;

/// Lays rows out in columns. The widths of the first rows stay for those that follow.
#[derive(Debug)]
pub(crate) struct Table {
    headers: Vec<&'static str>,
    /// Empty until the first rows.
    widths: Vec<usize>,
}

impl Table {
    pub(crate) fn new(headers: Vec<&'static str>) -> Self {
        Self { headers, widths: Vec::new() }
    }

    /// Writes rows, the first time behind the headers.
    pub(crate) fn write(&mut self, out: &mut Out, rows: Vec<Vec<Styled>>) -> Result<()> {
        let rows: Vec<Vec<Styled>> = rows.into_iter().map(clean).collect();
        if self.widths.is_empty() {
            self.widths = self.measured(&rows, out.cut());
            let headers = self.headers.iter().map(|text| Styled::new(*text, Tone::Strong));
            self.line(out, headers.collect())?;
        }
        rows.into_iter().try_for_each(|row| self.line(out, row))
    }

    fn measured(&self, rows: &[Vec<Styled>], cut: Option<usize>) -> Vec<usize> {
        let widest = |column: usize| {
            let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| width(&cell.text));
            cells.chain([width(self.headers[column])]).max().unwrap_or(0)
        };
        let mut widths: Vec<usize> = (0..self.headers.len()).map(widest).collect();
        let Some(available) = cut else { return widths };
        let gaps = GAP.len() * widths.len().saturating_sub(1);
        let mut excess = (widths.iter().sum::<usize>() + gaps).saturating_sub(available);
        // The widest columns pay first.
        while excess > 0 {
            let Some(widest) = widths.iter_mut().max() else { break };
            if *widest <= COLUMN_MIN {
                break;
            }
            *widest -= 1;
            excess -= 1;
        }
        widths
    }

    fn line(&self, out: &mut Out, cells: Vec<Styled>) -> Result<()> {
        let mut line = String::new();
        let last = cells.len().saturating_sub(1);
        for (column, cell) in cells.into_iter().enumerate() {
            let room = self.widths.get(column).copied().unwrap_or(0);
            // Rows after the first ones may be wider: without a terminal nothing is cut.
            let text = if out.cut().is_some() { cut(&cell.text, room) } else { cell.text };
            let padding = if column == last { 0 } else { room.saturating_sub(width(&text)) };
            line.push_str(&paint(&text, cell.tone, out.colours()));
            line.push_str(&" ".repeat(padding));
            if column < last {
                line.push_str(GAP);
            }
        }
        out.line(line.trim_end())
    }
}

fn clean(row: Vec<Styled>) -> Vec<Styled> {
    row.into_iter().map(|cell| Styled::new(printable(&cell.text), cell.tone)).collect()
}

/// The beginning of a text that does not fit.
pub(crate) fn cut(text: &str, room: usize) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    format!("{}{CUT}", beginning(text, room.saturating_sub(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(cells: &[&[&str]]) -> Vec<Vec<Styled>> {
        cells.iter().map(|row| row.iter().map(|cell| Styled::from(*cell)).collect()).collect()
    }

    #[test]
    fn a_column_is_as_wide_as_its_widest_cell() {
        let table = Table::new(vec!["ID", "STATUS"]);
        let rows = rows(&[&["order-7", "Failed"], &["a", "x"]]);
        assert_eq!(table.measured(&rows, None), [7, 6]);
    }

    #[test]
    fn the_widest_column_is_cut_first() {
        let table = Table::new(vec!["ID", "ERROR"]);
        let long = "x".repeat(50);
        let rows = rows(&[&["order-7", &long]]);
        assert_eq!(table.measured(&rows, Some(40)), [7, 31]);
        // A terminal of ten columns cannot show it; the text stays readable.
        assert_eq!(table.measured(&rows, Some(10)), [7, 8]);
    }

    #[test]
    fn a_cut_text_says_so() {
        assert_eq!(cut("order-7", 7), "order-7");
        assert_eq!(cut("order-7", 4), "ord…");
        assert_eq!(cut("ääää", 3), "ää…");
        assert_eq!(cut("日本語", 4), "日…");
    }
}
