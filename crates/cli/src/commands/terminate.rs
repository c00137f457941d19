//! `duroxide terminate`.

use clap::Args;
use duroxide::client::BulkAct;

use crate::bulk::{self, Act, ActArgs};
use crate::failure::Result;
use crate::recorded::RecordedAct;
use crate::session::Session;

/// End instances at once, without their code
///
/// Works on every instance that has not ended: also on one that is suspended, has not started, or
/// that no node can run or read. Children that it waits for end too. Prefer `cancel` for an
/// instance that a node can run.
#[derive(Debug, Args)]
pub(crate) struct TerminateArgs {
    #[command(flatten)]
    act: ActArgs,
    /// Why; the instance fails with `canceled: REASON`
    #[arg(long, default_value = "terminated by an operator")]
    reason: String,
}

const ACT: Act = Act { verb: "terminate", done: "terminated", is_final: true };

pub(crate) async fn run(args: TerminateArgs, session: &mut Session) -> Result<()> {
    let recorded = RecordedAct { act: ACT, kind: BulkAct::Terminate, reason: Some(&args.reason) };
    bulk::act_recorded(session, &args.act, recorded, async |client, id| {
        client.terminate_instance(id, args.reason.as_str()).await?;
        Ok(None)
    })
    .await
}
