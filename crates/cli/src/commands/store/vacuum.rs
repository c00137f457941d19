//! `duroxide store vacuum`.

use clap::Args;
use serde::Serialize;

use crate::confirm::Consent;
use crate::failure::Result;
use crate::output::{Format, size};
use crate::session::Session;
use crate::store::Access;

/// Make the file of a SQLite store as small as its content
///
/// Nodes that use the file wait while it is rewritten, about a second for every 100 MB. The disk
/// needs room for a second copy. PostgreSQL frees space by itself (autovacuum).
#[derive(Debug, Args)]
pub(crate) struct VacuumArgs {
    #[command(flatten)]
    consent: Consent,
}

#[derive(Debug, Serialize)]
struct Vacuumed {
    size_bytes_before: u64,
    size_bytes_after: u64,
}

pub(crate) async fn run(args: VacuumArgs, session: &mut Session) -> Result<()> {
    let access = if args.consent.dry_run { Access::Read } else { Access::Write };
    let store = session.open(access).await?;
    let before = store.describe().await?;
    let Some(free) = before.free_bytes else { return store.vacuum().await };
    let mut vacuumed = Vacuumed {
        size_bytes_before: before.size_bytes,
        size_bytes_after: before.size_bytes.saturating_sub(free),
    };
    if !args.consent.dry_run {
        args.consent
            .ask(&format!(
                "Rewrite {} of {}? Nodes wait meanwhile.",
                before.location,
                size(before.size_bytes)
            ))
            .await?;
        store.vacuum().await?;
        vacuumed.size_bytes_after = store.describe().await?.size_bytes;
    }
    let out = &mut session.out;
    match out.format() {
        Format::Json | Format::Jsonl => out.json(&vacuumed),
        Format::Table | Format::Wide | Format::Ids => {
            let (from, to) = (size(vacuumed.size_bytes_before), size(vacuumed.size_bytes_after));
            let verb = if args.consent.dry_run { "would shrink" } else { "shrank" };
            out.line(&format!("{verb} from {from} to {to}"))
        }
    }
}
