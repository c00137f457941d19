//! `duroxide start`.

use clap::Args;
use duroxide::client::{StartRequest, Started};
use serde::Serialize;
use uuid::Uuid;

use crate::arguments::ValueForm;
use crate::failure::{Failure, Result};
use crate::output::Format;
use crate::session::Session;

/// Start an instance, and print its id
///
/// The start waits until a node that has registered the orchestration runs it.
#[derive(Debug, Args)]
pub(crate) struct StartArgs {
    /// The registered name of the orchestration
    name: String,
    /// The id; an id that exists already is an error. Without it, a random one is made
    #[arg(long)]
    id: Option<String>,
    /// The version of the orchestration; otherwise the node chooses the newest
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    /// The input as JSON; @FILE reads it from a file, `-` from standard input
    #[arg(long, value_name = "JSON")]
    input: Option<String>,
    #[command(flatten)]
    form: ValueForm,
}

#[derive(Debug, Serialize)]
struct StartedInstance<'a> {
    instance_id: &'a str,
    orchestration_name: &'a str,
    orchestration_version: Option<&'a str>,
}

pub(crate) async fn run(args: StartArgs, session: &mut Session) -> Result<()> {
    let input = args.form.read(args.input.as_deref()).await?;
    let client = session.writer().await?;
    let id = args.id.unwrap_or_else(|| Uuid::new_v4().to_string());
    let mut request = StartRequest::new(&id, &args.name).with_input(input);
    if let Some(version) = &args.version {
        request = request.with_version(version);
    }
    if client.start_if_new(request).await? == Started::Existing {
        return Err(Failure::error(format!(
            "instance '{id}' exists already: choose another id, or see `duroxide show {id}`"
        )));
    }
    let started = StartedInstance {
        instance_id: &id,
        orchestration_name: &args.name,
        orchestration_version: args.version.as_deref(),
    };
    match session.out.format() {
        // Just the id, so that a script can use it without options.
        Format::Table | Format::Wide | Format::Ids => session.out.line(&id),
        Format::Json | Format::Jsonl => session.out.json(&started),
    }
}
