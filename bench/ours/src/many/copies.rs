//! Copies of a unit: the same rows under other ids, and earlier.
//!
//! Every table with a column `instance_id` is copied. In each text the prefix of the ids is
//! replaced, and each time, that of the events included, is moved.

use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use super::population::prefix;
use super::{copies_postgres, copies_sqlite};
use crate::heavy::Store;

/// The time over which the instances were created.
pub(super) const SPAN: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// What is copied.
#[derive(Debug, Clone)]
pub(super) struct Copies {
    /// The unit that was run.
    pub(super) of: u64,
    /// The units that are made, the latest first.
    pub(super) units: Range<u64>,
}

impl Copies {
    /// Makes them on the store of a folder.
    pub(super) async fn make(
        &self,
        store: Store,
        folder: &Path,
        server: Option<&str>,
    ) -> Result<(), String> {
        match store {
            Store::Sqlite => copies_sqlite::make(self, folder).map_err(|error| error.to_string()),
            Store::Postgres => {
                let server = server.ok_or("there is no server")?;
                copies_postgres::make(self, folder, server).await
            }
        }
    }

    /// Prefix of the ids and how many milliseconds earlier, for each copy, the earliest first.
    pub(super) fn listed(&self) -> Vec<(String, i64)> {
        let count = self.units.end - self.units.start;
        let spacing = SPAN.as_millis() / u128::from(count.max(1));
        let earlier = |unit: u64| {
            let place = u128::from(unit - self.units.start + 1);
            i64::try_from(spacing * place).unwrap_or(i64::MAX)
        };
        self.units.clone().rev().map(|unit| (prefix(unit), earlier(unit))).collect()
    }

    /// The columns of a table and what a copy has in them. `random` is an expression of the store.
    pub(super) fn columns(&self, columns: &[Column], random: &str) -> (String, String) {
        let (named, values): (Vec<&str>, Vec<String>) = columns
            .iter()
            .filter(|column| !column.is_numbered)
            .map(|column| (column.name.as_str(), self.value(column, random)))
            .unzip();
        (named.join(", "), values.join(", "))
    }

    fn value(&self, column: &Column, random: &str) -> String {
        let renamed = |part: &str| format!("replace(t.{part}, '{}', u.prefix)", prefix(self.of));
        match column.name.as_str() {
            "incarnation" => random.to_owned(),
            "event_data" => {
                format!("{} || (t.event_at - u.earlier) || {}", renamed("head"), renamed("tail"))
            }
            time if TIMES.contains(&time) => format!("t.{time} - u.earlier"),
            text if column.has_ids => renamed(text),
            other => format!("t.{other}"),
        }
    }
}

/// Columns with a time.
const TIMES: &[&str] = &[
    "created_at",
    "updated_at",
    "started_at",
    "completed_at",
    "suspended_since",
    "last_updated_at_ms",
];

/// What stands before the time in the text of an event.
pub(super) const EVENT_TIME: &str = "\"timestamp_ms\":";

/// A column of a table.
#[derive(Debug, Clone)]
pub(super) struct Column {
    pub(super) name: String,
    /// Whether some row of the unit has an id in it.
    pub(super) has_ids: bool,
    /// Whether the store numbers it by itself.
    pub(super) is_numbered: bool,
}
