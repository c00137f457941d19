//! `duroxide watch`.

use clap::Args;
use duroxide::client::UnstartedInstance;
use duroxide::providers::ActivityProgress;
use duroxide::runtime::OrchestrationStatus;
use duroxide::{Client, ClientError};
use serde::Serialize;

use super::known::{self, Known};
use crate::failure::{Failure, Result};
use crate::limits;
use crate::output::{Format, Styled, Tone, iso, printable, tone_of_status};
use crate::session::Session;

/// Show changes of an instance until it ends: status, custom status, progress of its activities
#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    /// The instance
    id: String,
}

/// What is known at one moment. A line is written whenever it changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Moment {
    instance_id: String,
    /// `unstarted`, `running`, `suspended`, `completed` or `failed`.
    status: &'static str,
    custom_status: Option<String>,
    output: Option<String>,
    error: Option<String>,
    suspended_reason: Option<String>,
    activities: Vec<Reported>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Reported {
    activity_id: u64,
    activity_name: String,
    attempt: u32,
    progress: String,
    updated_at_ms: u64,
}

#[derive(Debug, Serialize)]
struct Line<'a> {
    at_ms: u64,
    #[serde(flatten)]
    moment: &'a Moment,
}

pub(crate) async fn run(args: WatchArgs, session: &mut Session) -> Result<()> {
    let client = session.reader().await?;
    let mut last: Option<Moment> = None;
    loop {
        let (moment, seen) = look(&client, &args.id).await?;
        if last.as_ref() != Some(&moment) {
            write(session, &moment)?;
            session.out.flush()?;
        }
        if matches!(moment.status, "completed" | "failed") {
            return Ok(());
        }
        last = Some(moment);
        next_change(&client, &args.id, seen).await?;
    }
}

/// What was seen, to wait for something else.
struct Seen {
    custom_status_version: u64,
    progress: Vec<ActivityProgress>,
}

async fn look(client: &Client, id: &str) -> Result<(Moment, Seen)> {
    let known = known::require(client, id).await?;
    let progress = client.get_activity_progress(id).await?;
    let mut moment = Moment {
        instance_id: id.to_owned(),
        status: "running",
        custom_status: None,
        output: None,
        error: None,
        suspended_reason: None,
        activities: progress.iter().map(reported).collect(),
    };
    let mut custom_status_version = 0;
    match known {
        Known::Unstarted(UnstartedInstance { .. }) => moment.status = "unstarted",
        Known::Unreadable(why) => {
            let text = format!("the history of '{id}' cannot be read: {why}; see `duroxide show`");
            return Err(Failure::error(text));
        }
        Known::Started(OrchestrationStatus::Running {
            custom_status,
            custom_status_version: version,
        }) => {
            (moment.custom_status, custom_status_version) = (custom_status, version);
            if let Some(suspension) = client.get_suspension(id).await? {
                moment.status = "suspended";
                moment.suspended_reason = Some(suspension.reason);
            }
        }
        Known::Started(OrchestrationStatus::Completed { output, custom_status, .. }) => {
            moment.status = "completed";
            (moment.output, moment.custom_status) = (Some(output), custom_status);
        }
        Known::Started(OrchestrationStatus::Failed { details, custom_status, .. }) => {
            moment.status = "failed";
            (moment.error, moment.custom_status) = (Some(details.display_message()), custom_status);
        }
        Known::Started(OrchestrationStatus::NotFound) => {}
    }
    Ok((moment, Seen { custom_status_version, progress }))
}

/// Returns when something may have changed, or after a while.
async fn next_change(client: &Client, id: &str, seen: Seen) -> Result<()> {
    let round = limits::WATCH_ROUND;
    let poll = limits::WATCH_POLL;
    let version = seen.custom_status_version;
    let changed = tokio::select! {
        changed = client.wait_for_status_change(id, version, poll, round) => changed.map(drop),
        changed = client.wait_for_activity_progress(id, &seen.progress, round) => changed.map(drop),
        () = tokio::time::sleep(limits::SUSPENSION_POLL) => Ok(()),
    };
    match changed {
        Ok(()) | Err(ClientError::Timeout) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn reported(progress: &ActivityProgress) -> Reported {
    Reported {
        activity_id: progress.activity_id,
        activity_name: progress.activity_name.clone(),
        attempt: progress.attempt,
        progress: progress.progress.clone(),
        updated_at_ms: progress.updated_at_ms,
    }
}

fn write(session: &mut Session, moment: &Moment) -> Result<()> {
    let at_ms = session.now_ms();
    let out = &mut session.out;
    match out.format() {
        Format::Json | Format::Jsonl => {
            // A stream has no end that an array could have: one object per line.
            let line = serde_json::to_string(&Line { at_ms, moment }).unwrap_or_default();
            out.line(&line)
        }
        Format::Ids => out.id(&moment.instance_id),
        Format::Table | Format::Wide => {
            let time = out.painted(&Styled::new(iso(at_ms), Tone::Faint));
            let status = out.painted(&Styled::new(moment.status, tone_of_status(moment.status)));
            let reason = moment.suspended_reason.as_ref().map(|text| format!("({text})"));
            let texts = [&moment.custom_status, &moment.output, &moment.error, &reason];
            let activities = moment.activities.iter();
            let activities = activities
                .map(|it| format!("{}#{}: {}", it.activity_name, it.activity_id, it.progress));
            let parts: Vec<String> =
                texts.into_iter().flatten().cloned().chain(activities).collect();
            out.line(format!("{time}  {status}  {}", printable(&parts.join("  "))).trim_end())
        }
    }
}
