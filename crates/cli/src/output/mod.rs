//! Everything about output: formats, tables, JSON, times, colours, and standard output itself.

mod details;
mod format;
mod list;
mod style;
mod table;
mod terminal;
mod time;
mod width;
mod words;
mod writer;

pub(crate) use details::Details;
pub(crate) use format::Format;
pub(crate) use list::{Column, List, Record};
pub(crate) use style::{Styled, Tone, printable, shell_word, tone_of_status};
pub(crate) use table::cut;
pub(crate) use terminal::stdin_is_terminal;
pub(crate) use time::{duration, iso, size};
pub(crate) use words::{counted, instances};
pub(crate) use writer::Out;
