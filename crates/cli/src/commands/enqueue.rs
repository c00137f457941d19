//! `duroxide enqueue`.

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use duroxide::providers::ClientMessage;

use crate::arguments::ValueForm;
use crate::commands::known;
use crate::failure::Result;
use crate::session::Session;

/// Put a message into a queue of an instance, which keeps it until it reads it
#[derive(Debug, Args)]
pub(crate) struct EnqueueArgs {
    /// The instance
    id: String,
    /// The name of the queue
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    queue: String,
    /// The data as JSON; @FILE reads it from a file, `-` from standard input
    data: Option<String>,
    #[command(flatten)]
    form: ValueForm,
}

pub(crate) async fn run(args: EnqueueArgs, session: &mut Session) -> Result<()> {
    let data = args.form.read(args.data.as_deref()).await?;
    let client = session.writer().await?;
    known::require_open(&client, &args.id, "message").await?;
    client.deliver(ClientMessage::queued(&args.id, &args.queue, data).to_existing()).await?;
    session.out.note(&format!("message put into queue '{}' of '{}'", args.queue, args.id))
}
