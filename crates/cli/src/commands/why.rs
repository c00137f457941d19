//! `duroxide why`.

use clap::Args;

use crate::failure::Result;
use crate::output::Format;
use crate::session::Session;

/// Explain what an instance waits for, and what to try next
#[derive(Debug, Args)]
pub(crate) struct WhyArgs {
    /// The instance
    id: String,
}

pub(crate) async fn run(args: WhyArgs, session: &mut Session) -> Result<()> {
    let client = session.reader().await?;
    let why = client.why(&args.id).await?;
    match session.out.format() {
        Format::Table | Format::Wide => session.out.line(why.to_string().trim_end()),
        Format::Json | Format::Jsonl => session.out.json(&why),
        Format::Ids => session.out.id(&args.id),
    }
}
