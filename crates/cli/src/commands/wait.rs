//! `duroxide wait`.

use std::time::Duration;

use clap::Args;
use duroxide::runtime::OrchestrationStatus;
use duroxide::{Client, ClientError};
use serde::Serialize;

use super::known;
use crate::arguments::parse_duration;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::limits;
use crate::output::Format;
use crate::session::Session;

/// Wait until an instance has ended, and print its output
///
/// Exits with 0 if it completed, with 5 if it failed, and with 6 if the time is over.
#[derive(Debug, Args)]
pub(crate) struct WaitArgs {
    /// The instance
    id: String,
    /// How long to wait, such as 30s or 5m; otherwise until it ends
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    timeout: Option<Duration>,
}

#[derive(Debug, Serialize)]
struct Outcome<'a> {
    instance_id: &'a str,
    /// `completed` or `failed`.
    status: &'static str,
    output: Option<String>,
    error: Option<String>,
    /// The category of the error.
    category: Option<&'static str>,
}

pub(crate) async fn run(args: WaitArgs, session: &mut Session) -> Result<()> {
    let client = session.reader().await?;
    let status = ended(&client, &args.id, args.timeout.unwrap_or(limits::WAIT_MAX)).await?;
    let (output, failure) = match status {
        OrchestrationStatus::Completed { output, .. } => (Some(output), None),
        OrchestrationStatus::Failed { details, .. } => (None, Some(details)),
        OrchestrationStatus::NotFound | OrchestrationStatus::Running { .. } => (None, None),
    };
    let outcome = Outcome {
        instance_id: &args.id,
        status: if failure.is_some() { "failed" } else { "completed" },
        error: failure.as_ref().map(duroxide::ErrorDetails::display_message),
        category: failure.as_ref().map(duroxide::ErrorDetails::category),
        output,
    };
    match session.out.format() {
        Format::Table | Format::Wide => {
            if let Some(output) = &outcome.output {
                session.out.text(output)?;
            }
        }
        Format::Json | Format::Jsonl => session.out.json(&outcome)?,
        Format::Ids => session.out.id(&args.id)?,
    }
    match outcome.error {
        Some(error) => {
            let text = format!("instance '{}' failed: {error}", args.id);
            Err(Failure::with(Exit::InstanceFailed, text))
        }
        None => Ok(()),
    }
}

/// The status of an instance that has ended. In between it looks whether there still is one:
/// nothing notifies of a deletion.
async fn ended(client: &Client, id: &str, timeout: Duration) -> Result<OrchestrationStatus> {
    let mut left = timeout;
    loop {
        known::require(client, id).await?;
        let round = left.min(limits::WAIT_ROUND);
        match client.wait_for_orchestration(id, round).await {
            Err(ClientError::Timeout) if left > round => left -= round,
            Err(ClientError::Timeout) => {
                let text = format!("instance '{id}' has not ended: see `duroxide why {id}`");
                return Err(Failure::with(Exit::Timeout, text));
            }
            status => return Ok(status?),
        }
    }
}
