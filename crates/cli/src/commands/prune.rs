//! `duroxide prune`.

use std::time::Duration;

use clap::Args;
use duroxide::client::BulkAct;
use duroxide::providers::PruneOptions;

use crate::arguments::parse_duration;
use crate::bulk::{self, Act, ActArgs};
use crate::failure::Result;
use crate::recorded::RecordedAct;
use crate::session::Session;
use crate::store::Access;

/// Remove old executions of instances that continued as new, never the current one
#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("rule").required(true).multiple(true)))]
pub(crate) struct PruneArgs {
    #[command(flatten)]
    act: ActArgs,
    /// Keep this many of the latest executions of each instance
    #[arg(long, value_name = "N", group = "rule")]
    keep_last: Option<u32>,
    /// Remove only executions that ended longer ago than this, such as 30d
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, group = "rule")]
    older_than: Option<Duration>,
}

const ACT: Act = Act { verb: "prune", done: "pruned", is_final: true };

pub(crate) async fn run(args: PruneArgs, session: &mut Session) -> Result<()> {
    // Opened here for its clock, by which executions ended.
    session.open(Access::Read).await?;
    let millis = |age: Duration| u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
    let completed_before = args.older_than.map(|age| session.now_ms().saturating_sub(millis(age)));
    let options = PruneOptions { keep_last: args.keep_last, completed_before };
    let kind = BulkAct::Prune { keep_last: args.keep_last, completed_before };
    let recorded = RecordedAct { act: ACT, kind, reason: None };
    bulk::act_recorded(session, &args.act, recorded, async |client, id| {
        client.get_instance_info(id).await?;
        let pruned = client.prune_executions(id, options.clone()).await?;
        Ok(Some(format!("pruned {} executions", pruned.executions_deleted)))
    })
    .await
}
