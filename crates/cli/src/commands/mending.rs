//! What `retry`, `reset` and `fork` share: their options, and how a plan is shown.

use clap::{Args, ValueEnum};
use duroxide::client::{LaterMessages, LaterResults, MendChildren, MendOptions, MendPlan};
use duroxide::{Client, ClientError};
use serde::Serialize;

use crate::bulk::ActArgs;
use crate::each::{Progress, Refusal, Tally, each};
use crate::failure::{Failure, Result};
use crate::output::{Column, Format, List, Record, Styled, Tone, instances, printable, shell_word};
use crate::recorded::RecordedAct;
use crate::session::Session;
use crate::targets::Targets;

/// How an instance is mended.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Mending")]
pub(crate) struct MendArgs {
    /// What happens to events and queue messages that came after the kept history
    #[arg(long, value_enum, value_name = "WHAT", default_value = "reapply")]
    messages: Messages,
    /// What happens to results of kept activities that came after the kept history
    #[arg(long, value_enum, value_name = "WHAT", default_value = "keep")]
    results: Results,
    /// What happens to children that the kept history waits for
    #[arg(long, value_enum, value_name = "WHAT", default_value = "mend")]
    children: Children,
    /// Mend a child alone, although its parent no longer waits for it
    #[arg(long)]
    detached: bool,
    /// The version of the code from now on; it must agree with the kept history
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    /// Why, for the history
    #[arg(long, default_value = "")]
    reason: String,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Messages {
    /// They arrive again, each when the code waits for it
    Reapply,
    /// They are dropped
    Drop,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Results {
    /// They arrive again
    Keep,
    /// The activities run again
    RunAgain,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Children {
    /// A failed child is retried, a running one awaited, a completed one answers again
    Mend,
    /// The command is refused if there are any
    Refuse,
}

impl MendArgs {
    /// Refuses options for instances that a filter selects: their act is recorded without them.
    pub(crate) fn refuse_for_matching(&self, targets: &Targets, verb: &str) -> Result<()> {
        let Self { messages, results, children, detached, version, reason: _ } = self;
        let given = [
            ("--messages", matches!(messages, Messages::Drop)),
            ("--results", matches!(results, Results::RunAgain)),
            ("--children", matches!(children, Children::Refuse)),
            ("--detached", *detached),
            ("--version", version.is_some()),
        ];
        let given = given.iter().find(|(_, is_given)| *is_given).map(|(option, _)| option);
        let (Some(option), Some(filter)) = (given, targets.filter()?) else { return Ok(()) };
        let filter = shell_word(&filter.to_string());
        Err(Failure::usage(format!(
            "{option} is for named instances: use duroxide list {filter} --all -o ids | duroxide \
             {verb} - {option} …"
        )))
    }

    /// Why, for the history.
    pub(crate) fn reason(&self) -> Option<&str> {
        Some(self.reason.as_str()).filter(|reason| !reason.is_empty())
    }

    /// The options of the library.
    pub(crate) fn options(&self) -> Result<MendOptions> {
        let mut options = MendOptions::default()
            .with_messages(match self.messages {
                Messages::Reapply => LaterMessages::Reapply,
                Messages::Drop => LaterMessages::Drop,
            })
            .with_results(match self.results {
                Results::Keep => LaterResults::Keep,
                Results::RunAgain => LaterResults::RunAgain,
            })
            .with_children(match self.children {
                Children::Mend => MendChildren::Mend,
                Children::Refuse => MendChildren::Refuse,
            })
            .with_detached(self.detached)
            .with_reason(self.reason.as_str());
        if let Some(version) = &self.version {
            if semver::Version::parse(version).is_err() {
                return Err(Failure::usage(format!(
                    "'{version}' is no semantic version: write one like 1.2.0"
                )));
            }
            options = options.with_version(version.as_str());
        }
        Ok(options)
    }
}

/// What would happen to one instance.
#[derive(Debug, Serialize)]
struct Planned {
    instance_id: String,
    /// `would_<verb>`, `not_found` or `failed`.
    result: String,
    error: Option<String>,
    plan: Option<MendPlan>,
}

impl Planned {
    fn new(instance_id: String, verb: &str, outcome: Result<MendPlan, Refusal>) -> Self {
        match outcome {
            Ok(plan) => {
                let result = format!("would_{verb}");
                Self { instance_id, result, error: None, plan: Some(plan) }
            }
            Err(Refusal { result, error }) => {
                Self { instance_id, result: result.to_owned(), error: Some(error), plan: None }
            }
        }
    }
}

impl Record for Planned {
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

/// Shows what an act would do to each selected instance. Nothing changes.
pub(crate) async fn show_plans(
    session: &mut Session,
    args: &ActArgs,
    recorded: &RecordedAct<'_>,
    plan: impl AsyncFn(&Client, &str) -> Result<MendPlan, ClientError>,
) -> Result<()> {
    let client = session.reader().await?;
    let selected = recorded.select(&client, args).await?;
    let verb = recorded.act.verb;
    if let ([only], true) = (selected.ids.as_slice(), selected.named) {
        let plan = plan(&client, only).await?;
        return show_plan(session, verb, only, plan);
    }
    let mut all = Vec::new();
    let progress = Progress::new("planned", selected.ids.len());
    let plan = async |id: &str| plan(&client, id).await;
    let (tally, planned) = each((selected.ids, progress), plan, |page| {
        all.extend(page.into_iter().map(|(id, outcome)| Planned::new(id, verb, outcome)));
        Ok(())
    })
    .await;
    planned.and_then(|()| finish(session, verb, &all, tally))
}

/// Shows what an act would do to one instance.
pub(crate) fn show_plan(
    session: &mut Session,
    verb: &str,
    instance_id: &str,
    plan: MendPlan,
) -> Result<()> {
    let planned = Planned::new(instance_id.to_owned(), verb, Ok(plan));
    finish(session, verb, &[planned], Tally::default())
}

fn finish(session: &mut Session, verb: &str, all: &[Planned], tally: Tally) -> Result<()> {
    match session.out.format() {
        Format::Table | Format::Wide => {
            for planned in all {
                write_plan(session, verb, planned)?;
            }
        }
        Format::Json | Format::Jsonl | Format::Ids => List::write(&mut session.out, all)?,
    }
    tally.verdict("cannot be changed")?;
    session.out.note(&format!("dry run: {}, nothing was changed", instances(all.len() as u64)))
}

fn write_plan(session: &mut Session, verb: &str, planned: &Planned) -> Result<()> {
    let Planned { instance_id, error, plan, .. } = planned;
    if let Some(plan) = plan {
        for line in plan.to_string().lines() {
            session.out.line(&printable(line))?;
        }
    }
    if let Some(error) = error {
        session.out.line(&printable(&format!("{instance_id}: cannot {verb} it: {error}")))?;
    }
    Ok(())
}
