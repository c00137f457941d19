//! `duroxide store check`.

use clap::Args;
use serde::Serialize;

use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::output::Format;
use crate::session::Session;
use crate::store::Access;

/// Check the tables, and on SQLite search the whole file for damage
///
/// A store of another version, or with missing tables, is an error. PostgreSQL guards its own
/// pages: there, only the tables and functions are checked. The store may be in use.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {}

#[derive(Debug, Serialize)]
struct Checked {
    ok: bool,
    schema_version: i64,
    /// Whether the content of the file was examined.
    content_checked: bool,
    problems: Vec<String>,
}

pub(crate) async fn run(_: CheckArgs, session: &mut Session) -> Result<()> {
    let store = session.open(Access::Read).await?;
    let schema_version = store.describe().await?.schema_version;
    let found = store.check_content().await?;
    let (content_checked, problems) = (found.is_some(), found.unwrap_or_default());
    let checked = Checked { ok: problems.is_empty(), schema_version, content_checked, problems };
    match session.out.format() {
        Format::Json | Format::Jsonl => session.out.json(&checked)?,
        Format::Table | Format::Wide | Format::Ids => {
            checked.problems.iter().try_for_each(|problem| session.out.line(problem))?;
        }
    }
    if !checked.ok {
        let text = "the store is damaged: restore a backup, or save what is readable with the \
             sqlite3 command `.recover`";
        return Err(Failure::with(Exit::Error, text));
    }
    session.out.note("the store is in order")
}
