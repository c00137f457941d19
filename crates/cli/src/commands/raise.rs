//! `duroxide raise`.

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use duroxide::providers::ClientMessage;

use crate::arguments::ValueForm;
use crate::commands::known;
use crate::failure::Result;
use crate::session::Session;

/// Send an event to an instance that waits for it
///
/// An event that the instance does not wait for is dropped; see `enqueue` for messages that are
/// kept.
#[derive(Debug, Args)]
pub(crate) struct RaiseArgs {
    /// The instance
    id: String,
    /// The name of the event
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    event: String,
    /// The data as JSON; @FILE reads it from a file, `-` from standard input
    data: Option<String>,
    #[command(flatten)]
    form: ValueForm,
}

pub(crate) async fn run(args: RaiseArgs, session: &mut Session) -> Result<()> {
    let data = args.form.read(args.data.as_deref()).await?;
    let client = session.writer().await?;
    known::require_open(&client, &args.id, "event").await?;
    client.deliver(ClientMessage::signal(&args.id, &args.event, data).to_existing()).await?;
    session.out.note(&format!("event '{}' sent to '{}'", args.event, args.id))
}
