//! `duroxide`: finds, explains and mends the instances of a store. Everything is a call of the
//! library; the command only prints.

mod arguments;
mod bulk;
mod cli;
mod commands;
mod confirm;
mod each;
mod exit;
mod failure;
#[cfg(test)]
mod help_page;
mod input;
mod limits;
mod output;
mod planned;
mod recorded;
mod redact;
mod session;
mod store;
mod targets;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use crate::cli::Cli;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::printable;
use crate::redact::redact;

fn main() -> ExitCode {
    let exit = match Cli::try_parse() {
        Ok(cli) => match run(cli) {
            Ok(()) => Exit::Done,
            Err(failure) => {
                if let Some(message) = failure.message() {
                    complain(&format!("duroxide: {}", printable(&one_line(message))));
                }
                failure.exit()
            }
        },
        // Help and version are answers; everything else is a mistake of the caller.
        Err(answer) if !answer.use_stderr() => print(&answer.to_string()),
        Err(mistake) => {
            let lines = mistake.to_string();
            complain(&lines.trim_end().lines().map(printable).collect::<Vec<_>>().join("\n"));
            Exit::Usage
        }
    };
    exit.into()
}

/// Runs a command until it ends or the user interrupts it.
#[tokio::main(flavor = "current_thread")]
async fn run(cli: Cli) -> failure::Result<()> {
    let interrupted = async {
        if tokio::signal::ctrl_c().await.is_err() {
            // Without the signal handler an interrupt ends the process anyway.
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        // The signal first: it is caught before anything waits.
        biased;
        () = interrupted => Err(Failure::silent(Exit::Interrupted)),
        outcome = Box::pin(commands::run(cli)) => outcome,
    }
}

fn print(text: &str) -> Exit {
    let mut out = std::io::stdout().lock();
    // A reader that has gone, as `head` does, has read enough.
    drop(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
    Exit::Done
}

/// Writes to standard error. If that fails, there is no place left to report it.
fn complain(text: &str) {
    drop(writeln!(std::io::stderr().lock(), "{}", redact(text)));
}

fn one_line(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}
