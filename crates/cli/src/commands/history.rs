//! `duroxide history`.

use clap::Args;
use duroxide::providers::{StoredEvent, StoredEventsQuery};
use duroxide::{Client, ClientError};
use serde::Serialize;
use serde_json::Value;

use crate::commands::event_text;
use crate::failure::{Failure, Result};
use crate::limits;
use crate::output::{Column, List, Record, Styled, Tone, iso};
use crate::session::Session;

/// Show the events of an instance
///
/// Of an event that this command does not know, the stored text is shown. A long history is read
/// and written in parts.
#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    /// The instance
    id: String,
    /// The number of the execution; otherwise the latest
    #[arg(long, value_name = "N")]
    execution: Option<u64>,
    /// Go on with new events until the instance ends, also across continue-as-new
    #[arg(long, short)]
    follow: bool,
}

/// The JSON of an event is its stored form; one that cannot be decoded says why.
#[derive(Debug, Serialize)]
struct EventRow {
    #[serde(flatten)]
    stored: Value,
    /// `null` for an event that this command knows.
    undecodable: Option<String>,
    #[serde(skip)]
    id: String,
    #[serde(skip)]
    at_ms: Option<u64>,
    #[serde(skip)]
    kind: String,
    #[serde(skip)]
    text: String,
}

impl EventRow {
    fn new(event: &StoredEvent, instance: &str, execution_id: u64) -> Self {
        let id = event.event_id().to_string();
        match event {
            StoredEvent::Decoded(event) => Self {
                stored: serde_json::to_value(event).unwrap_or_default(),
                undecodable: None,
                id,
                at_ms: Some(event.timestamp_ms),
                kind: event.kind.type_tag().to_owned(),
                text: event_text::of(event),
            },
            StoredEvent::Raw(raw) => Self {
                // The keys that every event has stay where they are.
                stored: raw.json().filter(Value::is_object).unwrap_or_else(|| {
                    serde_json::json!({
                        "event_id": raw.event_id,
                        "instance_id": instance,
                        "execution_id": execution_id,
                        "text": raw.text,
                    })
                }),
                undecodable: Some(raw.error.clone()),
                id,
                at_ms: raw.timestamp_ms,
                kind: raw.kind.clone().unwrap_or_else(|| "unknown".to_owned()),
                text: format!("cannot be decoded: {}", raw.error),
            },
            // A form that a later library adds; its id is all that is known here.
            _later => Self {
                stored: serde_json::json!({ "event_id": event.event_id() }),
                undecodable: Some("a form that this command does not know".to_owned()),
                id,
                at_ms: None,
                kind: "unknown".to_owned(),
                text: String::new(),
            },
        }
    }
}

impl Record for EventRow {
    const COLUMNS: &'static [Column] =
        &[Column::new("EVENT"), Column::new("TIME"), Column::new("KIND"), Column::new("WHAT")];

    fn cells(&self) -> Vec<Styled> {
        let tone = if self.undecodable.is_some() { Tone::Bad } else { Tone::Plain };
        vec![
            self.id.as_str().into(),
            Styled::new(self.at_ms.map(iso).unwrap_or_default(), Tone::Faint),
            self.kind.as_str().into(),
            Styled::new(self.text.clone(), tone),
        ]
    }

    fn id(&self) -> &str {
        &self.id
    }
}

pub(crate) async fn run(args: HistoryArgs, session: &mut Session) -> Result<()> {
    let client = session.reader().await?;
    let info = client.get_instance_info(&args.id).await?;
    let mut execution = args.execution.unwrap_or(info.current_execution_id);
    if args.execution.is_some() {
        let known = client.list_executions(&args.id).await?;
        if !known.contains(&execution) {
            let text = format!("instance '{}' has no execution {execution}", args.id);
            return Err(Failure::not_found(text));
        }
    }
    let mut list = List::of::<EventRow>(&session.out);
    loop {
        let query = StoredEventsQuery::new(&args.id, execution);
        let end = write_execution(&client, session, &mut list, query, args.follow).await?;
        match (args.follow, end) {
            (true, End::ContinuedAsNew) => execution += 1,
            (true, End::Open | End::Ended) | (false, _) => break,
        }
    }
    list.finish(&mut session.out)
}

/// How the events that were written end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Open,
    ContinuedAsNew,
    Ended,
}

async fn write_execution(
    client: &Client,
    session: &mut Session,
    list: &mut List,
    mut query: StoredEventsQuery,
    follow: bool,
) -> Result<End> {
    let mut end = End::Open;
    loop {
        let mut events = client.read_stored_events(query.clone()).await?;
        if events.is_empty() && follow && end == End::Open {
            session.out.flush()?;
            events = next_events(client, &query).await?;
        }
        let Some(last) = events.last() else { return Ok(end) };
        query = query.clone().behind(last.event_id());
        if let Some(last) = last.decoded() {
            end = match (last.is_terminal(), last.kind.type_tag()) {
                (true, "OrchestrationContinuedAsNew") => End::ContinuedAsNew,
                (true, _) => End::Ended,
                (false, _) => End::Open,
            };
        }
        let row = |event| EventRow::new(event, &query.instance, query.execution_id);
        let rows: Vec<EventRow> = events.iter().map(row).collect();
        list.page(&mut session.out, &rows)?;
    }
}

/// Waits for events. A deleted instance has no more of them.
async fn next_events(client: &Client, query: &StoredEventsQuery) -> Result<Vec<StoredEvent>> {
    loop {
        match client.wait_for_stored_events(query.clone(), limits::WATCH_ROUND).await {
            Err(ClientError::Timeout) => {
                client.get_instance_info(&query.instance).await.map(drop)?
            }
            outcome => return Ok(outcome?),
        }
    }
}
