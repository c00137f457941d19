//! `duroxide store migrate`.

use clap::Args;
use serde::Serialize;

use crate::confirm::Consent;
use crate::failure::{Failure, Result};
use crate::output::{Format, Out};
use crate::session::Session;
use crate::store::{Access, Refusal};

/// Bring the tables of a store to the version of this command
///
/// This cannot be undone, and nodes of earlier releases may refuse the store afterwards: see the
/// guide about upgrades, and make a backup first. A store that does not exist is only made with
/// --create.
#[derive(Debug, Args)]
pub(crate) struct MigrateArgs {
    /// Make a new store if there is none
    #[arg(long)]
    create: bool,
    #[command(flatten)]
    consent: Consent,
}

#[derive(Debug, Serialize)]
struct Migrated {
    /// `up_to_date`, `migrated`, `functions_installed`, `created`, or what a dry run would do.
    result: &'static str,
    /// Zero if there was no store; `null` if its tables stay as they are.
    from_version: Option<i64>,
}

pub(crate) async fn run(args: MigrateArgs, session: &mut Session) -> Result<()> {
    let dry_run = args.consent.dry_run;
    let found = session.try_open(Access::Read).await?;
    let migrated = match found {
        Ok(store) => {
            let from_version = Some(store.describe().await?.schema_version);
            return report(&mut session.out, &Migrated { result: "up_to_date", from_version });
        }
        Err(Refusal::Older { place, found, known }) => {
            if !dry_run {
                args.consent.ask(&format!(
                    "Migrate {place} from schema version {found} to {known}? It cannot be undone."
                ))
.await?;
            }
            let result = if dry_run { "would_migrate" } else { "migrated" };
            Migrated { result, from_version: Some(found) }
        }
        Err(Refusal::FunctionsMissing { .. }) => {
            let result = if dry_run { "would_install_functions" } else { "functions_installed" };
            Migrated { result, from_version: None }
        }
        Err(Refusal::Missing { .. }) if args.create => {
            let result = if dry_run { "would_create" } else { "created" };
            Migrated { result, from_version: Some(0) }
        }
        Err(other) => return Err(Failure::from(other)),
    };
    if !dry_run {
        session.open(Access::Migrate).await?;
    }
    report(&mut session.out, &migrated)
}

fn report(out: &mut Out, migrated: &Migrated) -> Result<()> {
    match out.format() {
        Format::Json | Format::Jsonl => out.json(migrated),
        Format::Table | Format::Wide | Format::Ids => out.line(migrated.result),
    }
}
