//! `duroxide cancel`.

use std::time::Duration;

use clap::Args;
use duroxide::client::BulkAct;
use duroxide::providers::ClientMessage;

use crate::arguments::parse_duration;
use crate::bulk::{self, Act, ActArgs};
use crate::failure::Result;
use crate::recorded::RecordedAct;
use crate::session::Session;

/// Cancel instances, at once or after a time in which their code can clean up
///
/// The instance ends in its next turn, and the children that it waits for with it. A suspended
/// instance is resumed for that. With --grace its code is asked to end by itself first. Use
/// `terminate` for an instance that no node can run.
#[derive(Debug, Args)]
pub(crate) struct CancelArgs {
    #[command(flatten)]
    act: ActArgs,
    /// Why; the instance fails with `canceled: REASON`
    #[arg(long, default_value = "cancelled by an operator")]
    reason: String,
    /// Ask the code to end by itself, and cancel what still runs after this time, such as 10m
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    grace: Option<Duration>,
}

const ACT: Act = Act { verb: "cancel", done: "cancelling", is_final: false };
const REQUEST: Act = Act { verb: "cancel", done: "asked_to_end", is_final: false };

pub(crate) async fn run(args: CancelArgs, session: &mut Session) -> Result<()> {
    let reason = args.reason.as_str();
    let (act, kind) = match args.grace {
        Some(grace) => (REQUEST, BulkAct::request_cancellation(grace)),
        None => (ACT, BulkAct::Cancel),
    };
    let recorded = RecordedAct { act, kind, reason: Some(reason) };
    bulk::act_recorded(session, &args.act, recorded, async |client, id| {
        if client.has_ended(id).await? {
            return Ok(Some("has_ended".to_owned()));
        }
        match args.grace {
            Some(grace) => client.request_cancellation(id, reason, grace).await?,
            None => {
                let message = ClientMessage::cancellation(id, reason).to_existing();
                client.deliver(message).await.map(drop)?;
            }
        }
        Ok(None)
    })
    .await
}
