//! The commands about the store as a whole.

use clap::Subcommand;

use super::{backup, check, info, migrate, vacuum};
use crate::failure::Result;
use crate::session::Session;

/// Describe, check, migrate or compact the store itself
#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    Info(info::InfoArgs),
    Check(check::CheckArgs),
    Migrate(migrate::MigrateArgs),
    Vacuum(vacuum::VacuumArgs),
    Backup(backup::BackupArgs),
}

pub(crate) async fn run(command: StoreCommand, session: &mut Session) -> Result<()> {
    match command {
        StoreCommand::Info(args) => info::run(args, session).await,
        StoreCommand::Check(args) => check::run(args, session).await,
        StoreCommand::Migrate(args) => migrate::run(args, session).await,
        StoreCommand::Vacuum(args) => vacuum::run(args, session).await,
        StoreCommand::Backup(args) => backup::run(args, session).await,
    }
}
