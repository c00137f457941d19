//! Acts on all instances that a filter selects: recorded in the store, and carried out by a host in
//! this process. If it ends early, `duroxide bulk resume` goes on.

use std::io::Write;
use std::time::Duration;

use clap::Args;
use duroxide::client::{BulkAct, BulkOutcome, BulkProgress, BulkRequest, BulkResult};
use duroxide::query::Filter;
use duroxide::runtime::bulk;
use duroxide::{Client, ClientError};

use crate::bulk::{Act, ActArgs, Acted, capitalized};
use crate::commands::list::matching;
use crate::each::Tally;
use crate::failure::{Failure, Result};
use crate::limits;
use crate::output::{List, instances, shell_word};
use crate::session::Session;
use crate::store::Access;
use crate::targets::Selected;

/// What is recorded with an act, and how fast it is.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Acts on many")]
pub(crate) struct RecordArgs {
    /// Who acts, for the record; otherwise DUROXIDE_OPERATOR or the user of the system
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// Why, for the record
    #[arg(long, value_name = "TEXT")]
    why: Option<String>,
    /// At most this many instances a second
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rate: Option<u32>,
}

impl RecordArgs {
    /// Who acts.
    pub(crate) fn operator(&self) -> String {
        operator(self.by.as_deref())
    }
}

/// Who acts: as named, or as the environment says.
pub(crate) fn operator(named: Option<&str>) -> String {
    let named = named.map(str::to_owned);
    let known = ["DUROXIDE_OPERATOR", "USER", "LOGNAME", "USERNAME"];
    let mut known = known.iter().filter_map(|name| std::env::var(name).ok());
    named.or_else(|| known.find(|name| !name.is_empty())).unwrap_or_else(user_of_process)
}

/// Services and containers often have no variable that names their user.
#[cfg(unix)]
fn user_of_process() -> String {
    format!("uid {}", rustix::process::getuid().as_raw())
}

#[cfg(not(unix))]
fn user_of_process() -> String {
    "unknown".to_owned()
}

/// An act, in words and as it is recorded.
pub(crate) struct RecordedAct<'a> {
    pub(crate) act: Act,
    pub(crate) kind: BulkAct,
    /// The reason that the command line has for the instances themselves.
    pub(crate) reason: Option<&'a str>,
}

impl RecordedAct<'_> {
    /// The request for what a filter selects.
    pub(crate) fn request(&self, args: &ActArgs, filter: Filter) -> BulkRequest {
        let reason = args.record.why.as_deref().or(self.reason).unwrap_or_default();
        let request = BulkRequest::matching(self.kind, filter).by(args.record.operator(), reason);
        match args.record.rate {
            Some(rate) => request.with_rate_per_second(rate),
            None => request,
        }
    }

    /// The filter of the instances that it concerns, unless they are named.
    pub(crate) fn filter(&self, args: &ActArgs) -> Result<Option<Filter>> {
        let Some(filter) = args.targets.filter()? else { return Ok(None) };
        Ok(Some(self.request(args, filter).effective_filter().unwrap_or_default()))
    }

    /// The instances that it concerns: named ones, or those that it finds by a filter.
    pub(crate) async fn select(&self, client: &Client, args: &ActArgs) -> Result<Selected> {
        let Some(filter) = self.filter(args)? else { return args.targets.named().await };
        let ids = matching(client, &filter.to_string(), |row| row.instance_id).await?;
        Ok(Selected { ids, named: false })
    }

    /// What became of an instance, in the words of an act on a named one.
    fn row(&self, outcome: &BulkOutcome) -> Acted {
        let mut acted = Acted::of(outcome, self.act.done);
        // Which execution goes on is for the record.
        let is_mending = matches!(self.kind, BulkAct::Retry | BulkAct::Reset { .. });
        if is_mending && acted.error.is_none() {
            self.act.done.clone_into(&mut acted.result);
        }
        acted
    }
}

/// Counts, asks, records the act, and carries it out.
pub(crate) async fn act_on_matching(
    session: &mut Session,
    args: &ActArgs,
    recorded: &RecordedAct<'_>,
    filter: Filter,
) -> Result<()> {
    let store = session.open(Access::Write).await?;
    let client = store.client();
    let act = recorded.act;
    let request = recorded.request(args, filter);
    let plan = client.plan_bulk(&request).await?;
    if plan.count == 0 {
        List::write::<Acted>(&mut session.out, &[])?;
        return session.out.note(&format!("nothing to {}: no instance matches", act.verb));
    }
    let than = if plan.is_exact { "" } else { "at least " };
    if !args.consent.yes {
        let more = if plan.count > plan.sample.len() as u64 { ", …" } else { "" };
        let sample = plan.sample.join(", ");
        session.out.note(&format!("{than}{}: {sample}{more}", instances(plan.count)))?;
    }
    let question = format!("{} {than}{}?", capitalized(act.verb), instances(plan.count));
    args.consent.ask(&question).await?;
    let id = client.start_bulk(&request).await?;
    let unfinished = Unfinished::new(&id);
    let host = bulk::host(store.provider()).await;
    let mut list = List::of::<Acted>(&session.out);
    let mut written = Ok(());
    let followed = follow(&client, &id, |page| {
        let rows: Vec<Acted> = page.iter().map(|outcome| recorded.row(outcome)).collect();
        // The act goes on to its end, whether its results can be written or not.
        if written.is_ok() {
            written = list.page(&mut session.out, &rows);
        }
    })
    .await;
    host.shutdown(None).await;
    let progress = followed?;
    unfinished.end();
    let finished = written.and_then(|()| list.finish(&mut session.out));
    verdict(&progress).and(finished)
}

/// Says how an act goes on that this process leaves: it is recorded, but no host carries it out.
pub(crate) struct Unfinished<'a> {
    id: &'a str,
    is_over: bool,
}

impl<'a> Unfinished<'a> {
    /// Of this act, until it is over.
    pub(crate) fn new(id: &'a str) -> Self {
        Self { id, is_over: false }
    }

    /// There is nothing left to do.
    pub(crate) fn end(mut self) {
        self.is_over = true;
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let word = shell_word(self.id);
        // If this fails, `bulk list` still says it.
        drop(writeln!(
            std::io::stderr().lock(),
            "the act is not over: `duroxide bulk resume {word}` goes on, `duroxide cancel {word}` \
             ends it"
        ));
    }
}

/// Passes on the outcomes of an act, page by page, until it is over.
pub(crate) async fn follow(
    client: &Client,
    id: &str,
    mut show: impl FnMut(&[BulkOutcome]),
) -> Result<BulkProgress> {
    let mut place = 0;
    loop {
        let progress = match client.get_bulk(id).await {
            Ok(progress) => Some(progress),
            // No host has started it yet.
            Err(ClientError::InstanceNotFound { .. }) => None,
            Err(error) if error.is_retryable() => None,
            Err(error) => return Err(error.into()),
        };
        let over = progress.filter(|progress| progress.phase.is_over());
        place = show_from(client, (id, place, over.is_some()), &mut show).await?;
        if let Some(progress) = over {
            return Ok(progress);
        }
        match client.wait_for_orchestration(id, limits::BULK_ROUND).await {
            Ok(_) | Err(ClientError::Timeout) => {}
            Err(error) if error.is_retryable() => tokio::time::sleep(limits::WATCH_POLL).await,
            Err(ClientError::InstanceNotFound { .. }) => {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Shows the parts that are complete. Returns where the next one begins.
async fn show_from(
    client: &Client,
    (id, mut place, is_over): (&str, u64, bool),
    show: &mut impl FnMut(&[BulkOutcome]),
) -> Result<u64> {
    loop {
        let part = match client.read_bulk_outcomes(id, place).await {
            Ok(part) => part,
            Err(ClientError::InstanceNotFound { .. }) => return Ok(place),
            Err(error) if error.is_retryable() && !is_over => return Ok(place),
            Err(error) => return Err(error.into()),
        };
        if part.next.is_none() && !is_over {
            return Ok(place);
        }
        show(&part.outcomes);
        match part.next {
            Some(next) => place = next,
            None => return Ok(place),
        }
    }
}

/// The end of the command by the end of the act.
pub(crate) fn verdict(progress: &BulkProgress) -> Result<()> {
    let BulkProgress { id, failed, not_found, error, .. } = progress;
    if let Some(error) = error {
        return Err(Failure::error(format!("act '{id}' has stopped: {error}")));
    }
    Tally { failed: *failed, missing: *not_found }.verdict("failed")
}

impl Acted {
    /// What became of an instance, with the word for what was done.
    pub(crate) fn of(outcome: &BulkOutcome, done: &str) -> Self {
        let instance_id = outcome.instance_id.clone();
        let detail = outcome.detail.clone();
        match outcome.result {
            BulkResult::Done => {
                let result = detail.unwrap_or_else(|| done.to_owned());
                Self { instance_id, result, error: None }
            }
            BulkResult::NotFound => {
                Self { instance_id, result: "not_found".to_owned(), error: detail }
            }
            BulkResult::Failed | _ => {
                Self { instance_id, result: "failed".to_owned(), error: detail }
            }
        }
    }
}
