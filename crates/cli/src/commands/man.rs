//! `duroxide man`.

use std::path::{Path, PathBuf};

use clap::{Args, CommandFactory};
use clap_mangen::Man;

use crate::cli::Cli;
use crate::failure::{Failure, Result};
use crate::session::Session;

/// Print the manual page, or write the pages of all commands into a folder
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The folder for the pages, such as ~/.local/share/man/man1
    #[arg(long, value_name = "FOLDER")]
    to: Option<PathBuf>,
}

pub(crate) fn run(args: ManArgs, session: &mut Session) -> Result<()> {
    let mut command = Cli::command();
    command.build();
    let Some(folder) = args.to else {
        let mut text = Vec::new();
        Man::new(command).render(&mut text)?;
        return session.out.raw(&text);
    };
    write_pages(&command, &folder)?;
    session.out.note(&format!("the pages are in {}", folder.display()))
}

/// The page of a command, and those of the commands below it.
fn write_pages(command: &clap::Command, folder: &Path) -> Result<()> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
    let path = folder.join(format!("{name}.1"));
    let mut text = Vec::new();
    Man::new(command.clone()).render(&mut text)?;
    std::fs::write(&path, text).map_err(|error| {
        Failure::error(format!("{} cannot be written: {error}", path.display()))
    })?;
    command.get_subcommands().try_for_each(|command| write_pages(command, folder))
}
