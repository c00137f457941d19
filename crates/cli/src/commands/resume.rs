//! `duroxide resume`.

use clap::Args;
use duroxide::client::BulkAct;

use super::known;
use crate::bulk::{self, Act, ActArgs};
use crate::failure::Result;
use crate::recorded::RecordedAct;
use crate::session::Session;

/// Let suspended instances go on
///
/// An instance whose code still disagrees with its history is suspended again in its next turn.
#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    #[command(flatten)]
    act: ActArgs,
}

const ACT: Act = Act { verb: "resume", done: "resumed", is_final: false };

pub(crate) async fn run(args: ResumeArgs, session: &mut Session) -> Result<()> {
    let recorded = RecordedAct { act: ACT, kind: BulkAct::Resume, reason: None };
    bulk::act_recorded(session, &args.act, recorded, async |client, id| {
        if client.resume_instance(id).await? {
            return Ok(None);
        }
        known::require(client, id).await?;
        Ok(Some("not_suspended".to_owned()))
    })
    .await
}
