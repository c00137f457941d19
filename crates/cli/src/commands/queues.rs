//! `duroxide queues`.

use clap::Args;
use serde::Serialize;

use crate::failure::Result;
use crate::limits;
use crate::output::{Details, Styled, Tone, iso};
use crate::session::Session;

/// Show how much waits in the queues
///
/// Counts stop at a limit on large stores. A parked message waits for an instance that does not
/// exist.
#[derive(Debug, Args)]
pub(crate) struct QueuesArgs {}

#[derive(Debug, Serialize)]
struct Queues {
    ready_messages: u64,
    delayed_messages: u64,
    parked_messages: u64,
    activities: u64,
    parked: Vec<Parked>,
}

#[derive(Debug, Serialize)]
struct Parked {
    instance_id: String,
    kind: String,
    enqueued_at_ms: u64,
}

pub(crate) async fn run(_: QueuesArgs, session: &mut Session) -> Result<()> {
    let client = session.reader().await?;
    let gauges = client.get_store_gauges().await?;
    let parked = match gauges.parked_messages {
        0 => Vec::new(),
        _ => client.list_parked_messages(limits::PARKED_SHOWN_MAX).await?,
    };
    let queues = Queues {
        ready_messages: gauges.ready_messages,
        delayed_messages: gauges.delayed_messages,
        parked_messages: gauges.parked_messages,
        activities: gauges.activities,
        parked: parked
            .into_iter()
            .map(|message| Parked {
                instance_id: message.instance_id,
                kind: message.kind,
                enqueued_at_ms: message.enqueued_at,
            })
            .collect(),
    };
    let parked = Styled::new(
        queues.parked_messages.to_string(),
        if queues.parked_messages > 0 { Tone::Warning } else { Tone::Plain },
    );
    let mut details = Details::default()
        .with("ready messages", queues.ready_messages.to_string())
        .with("delayed messages", queues.delayed_messages.to_string())
        .with("parked messages", parked)
        .with("activities", queues.activities.to_string());
    for message in &queues.parked {
        let at = iso(message.enqueued_at_ms);
        let text = format!("{} for '{}' since {at}", message.kind, message.instance_id);
        details = details.with("parked", text);
    }
    details.write(&mut session.out, "queues", &queues)
}
