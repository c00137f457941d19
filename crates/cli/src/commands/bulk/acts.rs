//! The commands, and how they show an act.

use clap::Subcommand;
use duroxide::client::BulkProgress;
use serde::Serialize;

use crate::output::{Column, Record, Styled};

/// See and resume acts on many instances
///
/// Every act with --where or --all is recorded: who did what and why, to which instances, and what
/// became of each. An act is an instance: `duroxide suspend`, `resume` and `cancel` take its id.
#[derive(Debug, Subcommand)]
pub(crate) enum BulkCommand {
    /// List the acts, newest first
    List {
        /// At most this many
        #[arg(long, value_name = "N", default_value_t = 20)]
        limit: u32,
    },
    /// Show what became of each instance of an act
    Outcomes {
        /// The act
        id: String,
    },
    /// Carry out unfinished acts that another process has left
    Resume {
        /// Only wait for this act
        id: Option<String>,
    },
}

/// An act as a row.
#[derive(Debug, Serialize)]
pub(super) struct ActRow {
    act_id: String,
    act: String,
    phase: String,
    by: String,
    reason: String,
    filter: Option<String>,
    frozen: u64,
    done: u64,
    failed: u64,
    not_found: u64,
    error: Option<String>,
}

impl From<BulkProgress> for ActRow {
    fn from(act: BulkProgress) -> Self {
        Self {
            act_id: act.id,
            act: act.act.word().to_owned(),
            phase: act.phase.as_str().to_owned(),
            by: act.by,
            reason: act.reason,
            filter: act.filter,
            frozen: act.frozen,
            done: act.done,
            failed: act.failed,
            not_found: act.not_found,
            error: act.error,
        }
    }
}

impl Record for ActRow {
    const COLUMNS: &'static [Column] = &[
        Column::new("ID"),
        Column::new("ACT"),
        Column::new("PHASE"),
        Column::new("DONE"),
        Column::new("FAILED"),
        Column::new("BY"),
        Column::new("REASON"),
        Column::wide("NOT FOUND"),
        Column::wide("FILTER"),
        Column::wide("ERROR"),
    ];

    fn cells(&self) -> Vec<Styled> {
        vec![
            self.act_id.as_str().into(),
            self.act.as_str().into(),
            self.phase.as_str().into(),
            format!("{}/{}", self.done, self.frozen).into(),
            self.failed.to_string().into(),
            self.by.as_str().into(),
            self.reason.as_str().into(),
            self.not_found.to_string().into(),
            self.filter.clone().unwrap_or_default().into(),
            self.error.clone().unwrap_or_default().into(),
        ]
    }

    fn id(&self) -> &str {
        &self.act_id
    }
}
