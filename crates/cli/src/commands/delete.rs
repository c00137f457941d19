//! `duroxide delete`.

use clap::Args;
use duroxide::client::BulkAct;

use crate::bulk::{self, Act, ActArgs};
use crate::failure::Result;
use crate::recorded::RecordedAct;
use crate::session::Session;

/// Remove finished root instances with their children, histories and messages
///
/// A running instance is refused without --force, and so is a child: its root is deleted with all
/// its children.
#[derive(Debug, Args)]
pub(crate) struct DeleteArgs {
    #[command(flatten)]
    act: ActArgs,
    /// Delete running instances too; their activities lose their leases
    #[arg(long)]
    force: bool,
}

const ACT: Act = Act { verb: "delete", done: "deleted", is_final: true };

pub(crate) async fn run(args: DeleteArgs, session: &mut Session) -> Result<()> {
    let recorded =
        RecordedAct { act: ACT, kind: BulkAct::Delete { force: args.force }, reason: None };
    bulk::act_recorded(session, &args.act, recorded, async |client, id| {
        client.delete_instance(id, args.force).await?;
        Ok(None)
    })
    .await
}
