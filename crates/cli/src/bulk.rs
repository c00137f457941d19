//! Performs one act on one or many instances: shows what it concerns, asks, acts, reports.

use clap::Args;
use duroxide::{Client, ClientError};
use serde::Serialize;

use crate::confirm::Consent;
use crate::each::{Progress, Refusal, each};
use crate::failure::Result;
use crate::limits;
use crate::output::{Column, List, Record, Styled, Tone, instances};
use crate::planned;
use crate::recorded::{RecordArgs, RecordedAct, act_on_matching};
use crate::session::Session;
use crate::targets::{Selected, Targets};

/// Arguments of every act on instances.
#[derive(Debug, Clone, Args)]
pub(crate) struct ActArgs {
    #[command(flatten)]
    pub(crate) targets: Targets,
    #[command(flatten)]
    pub(crate) consent: Consent,
    #[command(flatten)]
    pub(crate) record: RecordArgs,
}

/// An act in words.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Act {
    /// As in "terminate 3 instances?".
    pub(crate) verb: &'static str,
    /// As in "order-7 terminated".
    pub(crate) done: &'static str,
    /// Whether it cannot be undone: then it is confirmed even for a single id.
    pub(crate) is_final: bool,
}

/// What became of one instance.
#[derive(Debug, Serialize)]
pub(crate) struct Acted {
    pub(crate) instance_id: String,
    /// The word of the act, `not_found`, `failed`, or `would_<verb>` in a dry run.
    pub(crate) result: String,
    pub(crate) error: Option<String>,
}

impl Acted {
    /// An outcome, with the word for what was done if it has no remark.
    pub(crate) fn new(
        instance_id: String,
        outcome: Result<Option<String>, Refusal>,
        done: &str,
    ) -> Self {
        let (result, error) = match outcome {
            Ok(remark) => (remark.unwrap_or_else(|| done.to_owned()), None),
            Err(refusal) => (refusal.result.to_owned(), Some(refusal.error)),
        };
        Self { instance_id, result, error }
    }
}

impl Record for Acted {
    const COLUMNS: &'static [Column] =
        &[Column::new("ID"), Column::new("RESULT"), Column::new("ERROR")];

    fn cells(&self) -> Vec<Styled> {
        let tone = if self.error.is_some() { Tone::Bad } else { Tone::Plain };
        let result = Styled::new(self.result.clone(), tone);
        let error = self.error.clone().unwrap_or_default();
        vec![self.instance_id.as_str().into(), result, error.into()]
    }

    fn id(&self) -> &str {
        &self.instance_id
    }
}

/// Acts on every selected instance: what a filter selects in an act that the store records, and
/// named instances one by one with `perform`, whose result is a remark.
pub(crate) async fn act_recorded(
    session: &mut Session,
    args: &ActArgs,
    recorded: RecordedAct<'_>,
    perform: impl AsyncFn(&Client, &str) -> Result<Option<String>, ClientError>,
) -> Result<()> {
    if args.consent.dry_run {
        return planned::show(session, args, &recorded).await;
    }
    match args.targets.filter()? {
        Some(filter) => act_on_matching(session, args, &recorded, filter).await,
        None => act_on_named(session, args, recorded.act, perform).await,
    }
}

/// Acts on named instances. What `perform` returns is a remark on the result.
async fn act_on_named(
    session: &mut Session,
    args: &ActArgs,
    act: Act,
    perform: impl AsyncFn(&Client, &str) -> Result<Option<String>, ClientError>,
) -> Result<()> {
    let client = session.writer().await?;
    let selected = args.targets.named().await?;
    if selected.ids.is_empty() {
        List::write::<Acted>(&mut session.out, &[])?;
        return session.out.note(&format!("nothing to {}: no instance is named", act.verb));
    }
    confirm(session, args, act, &selected).await?;
    let [only] = selected.ids.as_slice() else {
        return act_on_all(session, &client, act, selected.ids, perform).await;
    };
    let remark = perform(&client, only).await?;
    let acted = Acted::new(only.clone(), Ok(remark), act.done);
    List::write(&mut session.out, &[acted])
}

async fn confirm(
    session: &mut Session,
    args: &ActArgs,
    act: Act,
    selected: &Selected,
) -> Result<()> {
    if selected.named && !act.is_final {
        return Ok(());
    }
    let count = selected.ids.len() as u64;
    if !args.consent.yes {
        let sample = selected.ids.iter().take(limits::SAMPLE).cloned().collect::<Vec<_>>();
        let more = if count > sample.len() as u64 { ", …" } else { "" };
        session.out.note(&format!("{}: {}{more}", instances(count), sample.join(", ")))?;
    }
    args.consent.ask(&format!("{} {}?", capitalized(act.verb), instances(count))).await
}

async fn act_on_all(
    session: &mut Session,
    client: &Client,
    act: Act,
    ids: Vec<String>,
    perform: impl AsyncFn(&Client, &str) -> Result<Option<String>, ClientError>,
) -> Result<()> {
    let mut list = List::of::<Acted>(&session.out);
    let progress = Progress::new(act.done, ids.len());
    let out = &mut session.out;
    let (tally, written) = each(
        (ids, progress),
        async |id| perform(client, id).await,
        |page| {
            let row = |(id, outcome)| Acted::new(id, outcome, act.done);
            list.page(out, &page.into_iter().map(row).collect::<Vec<_>>())
        },
    )
    .await;
    let written = written.and_then(|()| list.finish(&mut session.out));
    tally.verdict("failed").and(written)
}

pub(crate) fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
