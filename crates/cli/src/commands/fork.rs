//! `duroxide fork`.

use clap::Args;
use duroxide::client::MendPoint;
use serde::Serialize;

use super::mending::{self, MendArgs};
use crate::failure::Result;
use crate::output::Format;
use crate::session::Session;

/// Continue a copy of an instance from an event of its history, and print its id
///
/// The original stays as it is. The copy is a root instance; activities and children that the kept
/// history waits for run for it, too.
#[derive(Debug, Args)]
pub(crate) struct ForkArgs {
    /// The instance
    id: String,
    /// The id of the copy; an id that exists already is an error
    new_id: String,
    /// The last event that is kept: `last-failed` (the one before the failure), `first` (only the
    /// start), or the number of an event
    #[arg(long, value_name = "POINT")]
    to: MendPoint,
    #[command(flatten)]
    mend: MendArgs,
    /// Only show what would be done
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, Serialize)]
struct Forked<'a> {
    instance_id: &'a str,
    forked_from: &'a str,
    /// The last event of the original that was kept.
    kept: u64,
}

pub(crate) async fn run(args: ForkArgs, session: &mut Session) -> Result<()> {
    let options = args.mend.options()?;
    let ForkArgs { id, new_id, to, .. } = &args;
    if args.dry_run {
        let client = session.reader().await?;
        let plan = client.plan_fork(id, new_id, *to, &options).await?;
        return mending::show_plan(session, "fork", new_id, plan);
    }
    let client = session.writer().await?;
    let plan = client.fork_instance(id, new_id, *to, &options).await?;
    match session.out.format() {
        // Just the id, so that a script can use it without options.
        Format::Table | Format::Wide | Format::Ids => session.out.line(new_id),
        Format::Json | Format::Jsonl => {
            session.out.json(&Forked { instance_id: new_id, forked_from: id, kept: plan.kept })
        }
    }
}
