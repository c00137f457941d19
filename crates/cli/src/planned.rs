//! What a dry run says about each instance: what the act would do, or why it would refuse.

use duroxide::client::BulkAct;
use duroxide::query::{InstanceRow, RowStatus};
use duroxide::{Client, ClientError};

use crate::bulk::{ActArgs, Acted};
use crate::commands::known;
use crate::commands::list::matching;
use crate::each::{Progress, Refusal, Tally, each};
use crate::failure::{Failure, Result};
use crate::output::{List, instances};
use crate::recorded::RecordedAct;
use crate::session::Session;

/// What would become of one instance.
enum Forecast {
    /// The act would change it.
    Acts,
    /// The act would leave it alone: the word for that.
    Leaves(&'static str),
    /// The act would fail: why.
    Refuses(Failure),
}

/// Shows what the act would do to each selected instance. Nothing changes.
pub(crate) async fn show(
    session: &mut Session,
    args: &ActArgs,
    recorded: &RecordedAct<'_>,
) -> Result<()> {
    let client = session.reader().await?;
    let (planned, mut tally) = match recorded.filter(args)? {
        Some(filter) => {
            let row = |row| acted(recorded, &row);
            (matching(&client, &filter.to_string(), row).await?, Tally::default())
        }
        None => plan_named(&client, args, recorded).await?,
    };
    List::write(&mut session.out, &planned)?;
    let count = instances(planned.len() as u64);
    session.out.note(&format!("dry run: {count}, nothing was changed"))?;
    let refused = planned.iter().filter(|acted| acted.error.is_some()).count() as u64;
    tally.failed = refused.saturating_sub(tally.missing);
    tally.verdict("cannot be changed")
}

async fn plan_named(
    client: &Client,
    args: &ActArgs,
    recorded: &RecordedAct<'_>,
) -> Result<(Vec<Acted>, Tally)> {
    let selected = args.targets.named().await?;
    if let [only] = selected.ids.as_slice() {
        return Ok((vec![plan_one(client, only, recorded).await?], Tally::default()));
    }
    let mut planned = Vec::new();
    let progress = Progress::new("planned", selected.ids.len());
    let plan = async |id: &str| plan_one(client, id, recorded).await;
    let (tally, written) = each((selected.ids, progress), plan, |page| {
        let row = |(id, outcome)| match outcome {
            Ok(acted) => acted,
            Err(refusal) => Acted::new(id, Err(refusal), ""),
        };
        planned.extend(page.into_iter().map(row));
        Ok(())
    })
    .await;
    written.map(|()| (planned, tally))
}

async fn plan_one(
    client: &Client,
    id: &str,
    recorded: &RecordedAct<'_>,
) -> Result<Acted, ClientError> {
    match client.get_instance_row(id).await? {
        Some(row) => Ok(acted(recorded, &row)),
        None => {
            known::require(client, id).await?;
            Ok(Acted::new(id.to_owned(), Ok(None), &would(recorded)))
        }
    }
}

fn acted(recorded: &RecordedAct<'_>, row: &InstanceRow) -> Acted {
    let outcome = match forecast(recorded.kind, row) {
        Forecast::Acts => Ok(None),
        Forecast::Leaves(word) => Ok(Some(word.to_owned())),
        Forecast::Refuses(why) => Err(Refusal { result: "failed", error: why.to_string() }),
    };
    Acted::new(row.instance_id.clone(), outcome, &would(recorded))
}

fn would(recorded: &RecordedAct<'_>) -> String {
    format!("would_{}", recorded.act.verb)
}

#[expect(clippy::wildcard_enum_match_arm, reason = "no state of an instance forbids the others")]
fn forecast(act: BulkAct, row: &InstanceRow) -> Forecast {
    let instance_id = row.instance_id.clone();
    let has_ended = row.status.is_terminal();
    match act {
        BulkAct::Delete { .. } if row.parent_instance_id.is_some() => {
            Forecast::Refuses(ClientError::CannotDeleteSubOrchestration { instance_id }.into())
        }
        BulkAct::Delete { force: false } if !has_ended => {
            Forecast::Refuses(ClientError::InstanceStillRunning { instance_id }.into())
        }
        BulkAct::Terminate | BulkAct::Suspend if has_ended => {
            Forecast::Refuses(Failure::error(format!("instance '{instance_id}' has ended")))
        }
        BulkAct::Cancel | BulkAct::RequestCancellation { .. } if has_ended => {
            Forecast::Leaves("has_ended")
        }
        BulkAct::Resume if row.status != RowStatus::Suspended => Forecast::Leaves("not_suspended"),
        _ => Forecast::Acts,
    }
}
