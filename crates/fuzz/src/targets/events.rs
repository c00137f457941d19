//! Stored events, one text each.

use duroxide::Event;
use duroxide::providers::kit::{
    StartedOrchestration, decode_event, decode_start_event, decode_stored_event, has_started,
};

use super::support::lines;
use crate::target::{Target, Verdict, require, word};

pub(super) const TARGET: Target = Target { name: "events", seeds, read };

fn seeds() -> Vec<Vec<u8>> {
    lines(include_str!("../../../duroxide/tests/histories/recorded/0.2.0.jsonl"))
}

fn read(input: &[u8]) -> Verdict {
    let text = String::from_utf8_lossy(input);
    let started = has_started(Some(&text));
    drop(decode_start_event(Some(&text)));
    drop(StartedOrchestration::from_first_event(Some(&text)));
    drop(decode_stored_event(1, text.clone().into_owned()));
    let event = match decode_event(&text) {
        Ok(event) => event,
        Err(error) => return Ok(word(&error)),
    };
    let stored = serde_json::to_string(&event).map_err(|error| error.to_string())?;
    let again: Event =
        serde_json::from_str(&stored).map_err(|error| format!("{stored}: {error}"))?;
    require(again == event, || format!("{event:?} is read back as {again:?}"))?;
    let kind = format!("{:?}", event.kind);
    let kind = kind.split([' ', '{', '(']).next().unwrap_or_default();
    Ok(format!("{kind} {started} {}", event.source_event_id.is_some()))
}
