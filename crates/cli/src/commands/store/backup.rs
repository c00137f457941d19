//! `duroxide store backup`.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use crate::failure::Result;
use crate::output::Format;
use crate::session::Session;
use crate::store::Access;

/// Copy a SQLite store to a new file, while nodes use it
///
/// The copy is one snapshot, complete and on disk when the command ends. For PostgreSQL, use
/// pg_dump.
#[derive(Debug, Args)]
pub(crate) struct BackupArgs {
    /// The new file; one that exists is not replaced
    file: PathBuf,
}

#[derive(Debug, Serialize)]
struct Copied {
    file: String,
}

pub(crate) async fn run(args: BackupArgs, session: &mut Session) -> Result<()> {
    session.open(Access::Read).await?.backup(&args.file).await?;
    let copied = Copied { file: args.file.display().to_string() };
    match session.out.format() {
        Format::Json | Format::Jsonl => session.out.json(&copied),
        Format::Table | Format::Wide | Format::Ids => session.out.line(&copied.file),
    }
}
