//! `duroxide suspend`.

use clap::Args;
use duroxide::client::BulkAct;

use crate::bulk::{self, Act, ActArgs};
use crate::failure::Result;
use crate::recorded::RecordedAct;
use crate::session::Session;

/// Keep instances from taking turns until they are resumed
///
/// Messages and results of activities wait meanwhile; activities that run go on.
#[derive(Debug, Args)]
pub(crate) struct SuspendArgs {
    #[command(flatten)]
    act: ActArgs,
    /// Why; `show` and `why` repeat it
    #[arg(long, default_value = "suspended by an operator")]
    reason: String,
}

const ACT: Act = Act { verb: "suspend", done: "suspended", is_final: false };

pub(crate) async fn run(args: SuspendArgs, session: &mut Session) -> Result<()> {
    let recorded = RecordedAct { act: ACT, kind: BulkAct::Suspend, reason: Some(&args.reason) };
    bulk::act_recorded(session, &args.act, recorded, async |client, id| {
        client.suspend_instance(id, args.reason.as_str()).await?;
        Ok(None)
    })
    .await
}
