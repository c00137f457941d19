//! A chat in the terminal. Node and client are one process here; they share only the store.

use std::io::{self, BufRead};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use duroxide::prelude::*;
use example_agent::model::{PhraseBook, Thinker};
use example_agent::terminal::{Outcome, Terminal};
use example_agent::tools::{add, weather};
use example_agent::workflow::converse;

/// An agent with tools and a token budget. Say "bye" to end the conversation; Ctrl-C or Ctrl-D only
/// leave it, and the same command continues it.
#[derive(Parser)]
struct Args {
    /// Database of the conversations
    #[arg(long, default_value = "agent.db")]
    store: PathBuf,
    /// Id of the conversation
    #[arg(long, default_value = "chat-1")]
    id: String,
    /// Tokens that a new conversation may use
    #[arg(long, default_value_t = 10_000)]
    tokens: u64,
}

#[tokio::main]
async fn main() -> ExitCode {
    match perform(Args::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn perform(args: Args) -> Outcome<()> {
    let store = Arc::new(SqliteProvider::new(&args.store.display().to_string(), None).await?);
    let node = DuroxideRuntime::builder()
        .with_provider(store.clone())
        .register(converse)
        .register(weather)
        .register(add)
        .register_state(Thinker::new(PhraseBook))
        .build()
        .await?;
    let terminal = Terminal::open(Client::new(store), &args.id, args.tokens).await?;
    let outcome = chat(terminal).await;
    node.shutdown(None).await;
    outcome
}

async fn chat(mut terminal: Terminal) -> Outcome<()> {
    let mut ended = terminal.catch_up().await?;
    while ended.is_none() {
        println!("ready");
        let Some(line) = tokio::task::spawn_blocking(read_line).await?? else { return Ok(()) };
        ended = terminal.say(line.trim()).await?;
    }
    if let Some(summary) = ended {
        println!("{} answers, {} tokens left", summary.answered, summary.tokens_left);
    }
    Ok(())
}

fn read_line() -> io::Result<Option<String>> {
    io::stdin().lock().lines().next().transpose()
}
