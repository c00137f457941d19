//! Backlogs that the node of a benchmark may not claim: rows as the provider stores them.

mod kind;
pub(crate) mod postgres;
pub(crate) mod sqlite;

pub(crate) use kind::Backlog;
use kind::FAR;
