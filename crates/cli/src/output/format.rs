//! The formats that every command has in common.

use clap::ValueEnum;

/// How data is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Format {
    /// For people: columns, cut to the width of the terminal
    #[default]
    Table,
    /// For people: all columns, nothing cut
    Wide,
    /// One JSON value: an object, or an array of objects
    Json,
    /// One JSON object per line
    Jsonl,
    /// One id per line
    Ids,
}

impl Format {
    /// Whether people read it.
    pub(crate) fn is_for_people(self) -> bool {
        match self {
            Self::Table | Self::Wide => true,
            Self::Json | Self::Jsonl | Self::Ids => false,
        }
    }
}
