//! `duroxide show`.

use clap::Args;
use duroxide::client::UnstartedInstance;
use duroxide::client::why::ActivityState;
use duroxide::providers::StoredEventsQuery;
use duroxide::query::InstanceRow;
use duroxide::runtime::OrchestrationStatus;
use duroxide::{Client, ClientError, EventKind, SystemStats};
use serde::Serialize;

use super::known::{self, Known};
use super::timeline::{Frame, Span, SpanKind, SpanState, Spans, draw};
use crate::failure::Result;
use crate::limits;
use crate::output::{Details, Format, Styled, Tone, duration, iso, size, tone_of_status};
use crate::session::Session;

/// Show an instance, with a time line of its current execution
///
/// The bars go from the request of an activity, timer, event or child to the recorded result. The
/// store does not keep when a worker started an activity that has ended; of one that is open, the
/// time line says how long it has been queued.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The instance
    id: String,
    /// Show every row of the time line
    #[arg(long)]
    full: bool,
}

#[derive(Debug, Serialize)]
struct Shown {
    #[serde(flatten)]
    row: InstanceRow,
    /// The input of the current execution; `null` if its first event cannot be decoded.
    input: Option<String>,
    output: Option<String>,
    history: Option<SystemStats>,
    /// Of the current execution.
    timeline: Vec<Span>,
    /// Whether the history was too long to be read whole.
    timeline_truncated: bool,
}

#[derive(Debug, Serialize)]
struct Unstarted<'a> {
    instance_id: &'a str,
    /// Always `unstarted`.
    status: &'static str,
    orchestration_name: &'a str,
    orchestration_version: Option<&'a str>,
    parent_instance_id: Option<&'a str>,
    waiting_since_ms: u64,
    attempts: u32,
}

pub(crate) async fn run(args: ShowArgs, session: &mut Session) -> Result<()> {
    let client = session.reader().await?;
    let output = match known::require(&client, &args.id).await? {
        Known::Unstarted(unstarted) => return show_unstarted(session, &unstarted),
        Known::Started(OrchestrationStatus::Completed { output, .. }) => Some(output),
        Known::Started(
            OrchestrationStatus::NotFound
            | OrchestrationStatus::Running { .. }
            | OrchestrationStatus::Failed { .. },
        )
        | Known::Unreadable(_) => None,
    };
    let missing = || ClientError::InstanceNotFound { instance_id: args.id.clone() };
    let row = client.get_instance_row(&args.id).await?.ok_or_else(missing)?;
    let mut shown = Shown {
        history: client.get_orchestration_stats(&args.id).await?,
        row,
        input: None,
        output,
        timeline: Vec::new(),
        timeline_truncated: false,
    };
    read_timeline(&client, &mut shown).await?;
    if session.out.format().is_for_people() {
        return show(session, &shown, args.full);
    }
    Details::default().write(&mut session.out, &args.id, &shown)
}

fn show_unstarted(session: &mut Session, unstarted: &UnstartedInstance) -> Result<()> {
    let start = &unstarted.start;
    let json = Unstarted {
        instance_id: &start.instance_id,
        status: "unstarted",
        orchestration_name: &start.orchestration_name,
        orchestration_version: start.orchestration_version.as_deref(),
        parent_instance_id: start.parent_instance_id.as_deref(),
        waiting_since_ms: start.waiting_since_ms,
        attempts: start.attempt_count,
    };
    Details::default()
        .with("instance", json.instance_id)
        .with("orchestration", json.orchestration_name)
        .with_some("version", json.orchestration_version)
        .with("status", Styled::new("unstarted", Tone::Warning))
        .with("waiting since", iso(json.waiting_since_ms))
        .with("about", unstarted.to_string())
        .write(&mut session.out, &start.instance_id, &json)
}

async fn read_timeline(client: &Client, shown: &mut Shown) -> Result<()> {
    let id = &shown.row.instance_id;
    let mut query = StoredEventsQuery::new(id, shown.row.executions);
    let mut spans = Spans::default();
    let mut read = 0;
    loop {
        let events = client.read_stored_events(query.clone()).await?;
        let Some(last) = events.last() else { break };
        query = query.behind(last.event_id());
        for event in events.iter().filter_map(|event| event.decoded()) {
            if let EventKind::OrchestrationStarted { input, .. } = &event.kind {
                shown.input = Some(input.clone());
            }
            spans.add(event);
        }
        read += events.len();
        if read >= limits::TIMELINE_EVENTS_MAX {
            shown.timeline_truncated = true;
            break;
        }
    }
    shown.timeline = spans.spans;
    let is_open = |span: &Span| span.kind == SpanKind::Activity && span.state.is_open();
    if !shown.row.status.is_terminal() && shown.timeline.iter().any(is_open) {
        add_queue_times(client, shown).await?;
    }
    Ok(())
}

/// What the queue knows about activities without a result.
async fn add_queue_times(client: &Client, shown: &mut Shown) -> Result<()> {
    let why = client.why(&shown.row.instance_id).await?;
    for activity in why.activities.items {
        let found = shown.timeline.iter_mut().find(|span| span.event_id == activity.activity_id);
        let Some(span) = found else { continue };
        let scheduled = activity.scheduled_at_ms;
        #[expect(clippy::wildcard_enum_match_arm, reason = "the others say nothing about times")]
        match activity.state {
            ActivityState::Queued { since_ms } => {
                span.state = SpanState::Queued;
                span.queued_ms = Some(why.now_ms.saturating_sub(since_ms));
            }
            ActivityState::Delayed { .. } | ActivityState::InSession { .. } => {
                span.state = SpanState::Queued;
                span.queued_ms = Some(why.now_ms.saturating_sub(scheduled));
            }
            ActivityState::Leased { .. } => {
                span.state = SpanState::Running;
                span.run_ms_max = Some(why.now_ms.saturating_sub(scheduled));
            }
            // Its result is on its way, or the store does not say.
            _other => {}
        }
    }
    Ok(())
}

fn show(session: &mut Session, shown: &Shown, full: bool) -> Result<()> {
    let row = &shown.row;
    let status = row.status.as_str();
    let waiting = row.waiting_for.as_ref().filter(|all| !all.is_empty());
    let attributes = row.attributes.iter().map(|(key, value)| format!("{key}={value}"));
    let attributes = attributes.collect::<Vec<_>>().join(" ");
    let history = shown.history.as_ref().map(|stats| {
        format!("{} events, {}", stats.history_event_count, size(stats.history_size_bytes))
    });
    Details::default()
        .with("instance", row.instance_id.as_str())
        .with("orchestration", format!("{} {}", row.orchestration_name, row.orchestration_version))
        .with("status", Styled::new(status, tone_of_status(status)))
        .with_some("suspended", row.suspended_reason.as_deref())
        .with_some("error", row.error.as_ref().map(|it| Styled::new(it.message.clone(), Tone::Bad)))
        .with_some("custom status", row.custom_status.as_deref())
        .with_some("waits for", waiting.map(|all| all.join(", ")))
        .with_some("parent", row.parent_instance_id.as_deref())
        .with("execution", row.executions.to_string())
        .with("created", iso(row.created_at_ms))
        .with("updated", iso(row.updated_at_ms))
        .with_some("ended", row.ended_at_ms.map(iso))
        .with("duration", duration(row.duration_ms))
        .with_some("pin", row.pin.as_deref())
        .with_some("attributes", Some(attributes).filter(|text| !text.is_empty()))
        .with_some("history", history)
        .with_some("input", shown.input.as_deref())
        .with_some("output", shown.output.as_deref())
        .lines(&mut session.out)?;
    show_timeline(session, shown, full)
}

fn show_timeline(session: &mut Session, shown: &Shown, full: bool) -> Result<()> {
    let Some(first) = shown.timeline.first() else { return Ok(()) };
    let rows = if full { usize::MAX } else { limits::TIMELINE_ROWS };
    let hidden = shown.timeline.len().saturating_sub(rows);
    // The latest are those that matter.
    let spans = &shown.timeline[hidden..];
    let from_ms = spans.iter().map(|span| span.requested_at_ms).min().unwrap_or(0);
    let frame = Frame {
        from_ms: from_ms.min(if hidden == 0 { first.requested_at_ms } else { u64::MAX }),
        to_ms: shown.row.ended_at_ms.unwrap_or_else(|| session.now_ms()).max(from_ms),
        width: session.out.width(),
    };
    session.out.line("")?;
    for line in draw(spans, frame) {
        let bar = session.out.painted(&line.bar);
        session.out.line(format!("{}  {bar}  {}", line.label, line.text).trim_end())?;
    }
    if hidden > 0 && session.out.format() != Format::Ids {
        session.out.note(&format!("{hidden} earlier rows are left out: use --full"))?;
    }
    if shown.timeline_truncated {
        let most = limits::TIMELINE_EVENTS_MAX;
        session.out.note(&format!("the time line ends after {most} events"))?;
    }
    Ok(())
}
