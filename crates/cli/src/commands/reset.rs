//! `duroxide reset`.

use clap::Args;
use duroxide::Client;
use duroxide::client::{BulkAct, MendPoint};

use super::mending::{self, MendArgs};
use crate::bulk::{self, Act, ActArgs};
use crate::failure::Result;
use crate::recorded::RecordedAct;
use crate::session::Session;

/// Take instances back to an event of their history, and let them go on from there
///
/// Works on instances that run and on those that have ended. The execution so far keeps its
/// history, and a new one continues the kept part of it. `duroxide history` shows the events,
/// `--dry-run` what would run again.
#[derive(Debug, Args)]
pub(crate) struct ResetArgs {
    #[command(flatten)]
    act: ActArgs,
    /// The last event that is kept: `last-failed` (the one before the failure), `first` (only the
    /// start), or the number of an event
    #[arg(long, value_name = "POINT")]
    to: MendPoint,
    #[command(flatten)]
    mend: MendArgs,
}

const ACT: Act = Act { verb: "reset", done: "reset", is_final: true };

pub(crate) async fn run(args: ResetArgs, session: &mut Session) -> Result<()> {
    let options = args.mend.options()?;
    args.mend.refuse_for_matching(&args.act.targets, ACT.verb)?;
    let kind = BulkAct::Reset { to: args.to };
    let recorded = RecordedAct { act: ACT, kind, reason: args.mend.reason() };
    if args.act.consent.dry_run {
        let plan = async |client: &Client, id: &str| client.plan_reset(id, args.to, &options).await;
        return mending::show_plans(session, &args.act, &recorded, plan).await;
    }
    bulk::act_recorded(session, &args.act, recorded, async |client, id| {
        client.reset_instance(id, args.to, &options).await?;
        Ok(None)
    })
    .await
}
