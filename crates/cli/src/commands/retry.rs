//! `duroxide retry`.

use clap::Args;
use duroxide::Client;
use duroxide::client::BulkAct;

use super::mending::{self, MendArgs};
use crate::bulk::{self, Act, ActArgs};
use crate::failure::Result;
use crate::recorded::RecordedAct;
use crate::session::Session;

/// Run failed instances again from their failure
///
/// The call that failed runs again, and everything before it is kept; children that failed are
/// retried with their parents. An instance that was cancelled goes on as if it had not been. The
/// failed execution keeps its history, and a new one continues it. A command that was interrupted
/// may be repeated. `--dry-run` shows what would run again.
#[derive(Debug, Args)]
pub(crate) struct RetryArgs {
    #[command(flatten)]
    act: ActArgs,
    #[command(flatten)]
    mend: MendArgs,
}

const ACT: Act = Act { verb: "retry", done: "retried", is_final: false };

pub(crate) async fn run(args: RetryArgs, session: &mut Session) -> Result<()> {
    let options = args.mend.options()?;
    args.mend.refuse_for_matching(&args.act.targets, ACT.verb)?;
    let recorded = RecordedAct { act: ACT, kind: BulkAct::Retry, reason: args.mend.reason() };
    if args.act.consent.dry_run {
        let plan = async |client: &Client, id: &str| client.plan_retry(id, &options).await;
        return mending::show_plans(session, &args.act, &recorded, plan).await;
    }
    bulk::act_recorded(session, &args.act, recorded, async |client, id| {
        client.retry_instance(id, &options).await?;
        Ok(None)
    })
    .await
}
