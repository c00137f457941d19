//! The command line.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use duroxide::prelude::*;
use example_approval::commands::{self, Outcome};
use example_approval::workflow::{Decision, Request};

/// Human approval with reminders, escalation and a deadline.
#[derive(Parser)]
struct Args {
    /// Database of the requests
    #[arg(long, default_value = "approvals.db")]
    store: PathBuf,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run requests until Ctrl-C
    Serve,
    /// Ask for something
    Request {
        id: String,
        purpose: String,
        #[arg(long, default_value = "Emmy")]
        requester: String,
        #[arg(long, default_value = "Ada")]
        approver: String,
        #[arg(long, default_value = "Grace")]
        manager: String,
        #[arg(long, default_value_t = 10)]
        remind_after_seconds: u64,
        #[arg(long, default_value_t = 2)]
        reminders: u32,
        #[arg(long, default_value_t = 60)]
        deadline_seconds: u64,
    },
    /// Say yes
    Approve { id: String, by: String },
    /// Say no
    Reject { id: String, by: String, reason: String },
    /// Show how a request stands
    Status { id: String },
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
    let client = Client::new(store.clone());
    match args.command {
        Command::Serve => commands::serve(store).await,
        Command::Request {
            id,
            purpose,
            requester,
            approver,
            manager,
            remind_after_seconds,
            reminders,
            deadline_seconds,
        } => {
            let remind_after = Duration::from_secs(remind_after_seconds);
            let deadline = Duration::from_secs(deadline_seconds);
            let request = Request {
                requester,
                purpose,
                approver,
                manager,
                remind_after,
                reminders,
                deadline,
            };
            commands::request(&client, &id, &request).await
        }
        Command::Approve { id, by } => {
            commands::decide(&client, &id, &Decision::Approved { by }).await
        }
        Command::Reject { id, by, reason } => {
            commands::decide(&client, &id, &Decision::Rejected { by, reason }).await
        }
        Command::Status { id } => {
            println!("{}", commands::describe(&client, &id).await?);
            Ok(())
        }
    }
}
