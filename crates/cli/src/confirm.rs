//! Asks before something is lost.

use std::io::{BufRead, Write};

use clap::Args;

use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::input;
use crate::output::{printable, stdin_is_terminal};

/// Whether the user agrees.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Consent {
    /// Do it without asking
    #[arg(long, short = 'y')]
    pub(crate) yes: bool,
    /// Only show what would be done
    #[arg(long)]
    pub(crate) dry_run: bool,
}

impl Consent {
    /// Asks the question on the terminal, unless the command line has the answer.
    pub(crate) async fn ask(self, question: &str) -> Result<()> {
        if self.yes {
            return Ok(());
        }
        if !stdin_is_terminal() {
            return Err(not_confirmed(&format!(
                "{question} There is no terminal to ask on: use --yes to agree, or --dry-run to \
                 see what would be done"
            )));
        }
        drop(write!(std::io::stderr().lock(), "{} [y/N] ", printable(question)));
        let answer = input::read(|| {
            let mut answer = String::new();
            std::io::stdin().lock().read_line(&mut answer).map(|_| answer)
        });
        // An input that cannot be read is no yes.
        let answer = answer.await?.unwrap_or_default();
        match matches!(answer.trim(), "y" | "Y" | "yes" | "Yes" | "YES") {
            true => Ok(()),
            false => Err(not_confirmed("not confirmed: nothing was done")),
        }
    }
}

fn not_confirmed(text: &str) -> Failure {
    Failure::with(Exit::NotConfirmed, text)
}
