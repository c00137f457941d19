//! The text of notifications between nodes: a JSON array of the sender and what changed.

use crate::limits;
use crate::notify::change::{ANY_ROUTE, Changes};

// The words of a notification. Some carry a name after them.
const ORCHESTRATOR: &str = "o";
const WORKER: &str = "w";
const INSTANCE: &str = "i";
const STEP: &str = "t";
const EVERY_INSTANCE: &str = "I";
const START_LIMITS: &str = "s";
const WORK_LOCKS: &str = "l";

/// What one node says to all others besides changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Greeting {
    /// The sender starts to listen and asks the others to respond.
    WhoIsThere,
    /// The response: from now on the sender notifies the new node too.
    Here,
    /// The sender is still alive.
    StillHere,
}

impl Greeting {
    const ALL: [Self; 3] = [Self::WhoIsThere, Self::Here, Self::StillHere];

    fn word(self) -> &'static str {
        match self {
            Self::WhoIsThere => "?",
            Self::Here => "!",
            Self::StillHere => "h",
        }
    }
}

/// What another node sent.
#[derive(Debug, Default)]
pub(crate) struct Received {
    /// The node that sent it.
    pub(crate) sender: i64,
    pub(crate) changes: Changes,
    /// The sender asks for a response.
    pub(crate) asks: bool,
}

/// Greetings and changes as payloads that the server accepts.
pub(crate) fn write(node: i64, greetings: &[Greeting], changes: &Changes) -> Vec<String> {
    let mut words: Vec<String> = greetings.iter().map(|it| it.word().to_owned()).collect();
    if changes.orchestrator_queue {
        words.push(ORCHESTRATOR.to_owned());
    }
    words.extend(changes.routes.iter().map(|route| format!("{WORKER}{route}")));
    if changes.every_instance {
        words.push(EVERY_INSTANCE.to_owned());
    }
    if changes.start_limits {
        words.push(START_LIMITS.to_owned());
    }
    if changes.work_locks {
        words.push(WORK_LOCKS.to_owned());
    }
    words.extend(changes.instances.iter().map(|instance| format!("{INSTANCE}{instance}")));
    words.extend(changes.steps.iter().map(|instance| format!("{STEP}{instance}")));
    let mut payloads = Vec::new();
    let mut payload = opening(node);
    for word in words {
        let mut text = quoted(&word);
        if text.len() > limits::PAYLOAD_BYTES_MAX / 2 {
            // The name is too long to send.
            let any = format!("{WORKER}{ANY_ROUTE}");
            text = quoted(if word.starts_with(WORKER) { &any } else { EVERY_INSTANCE });
        }
        if payload.len() + text.len() + 2 > limits::PAYLOAD_BYTES_MAX {
            payloads.push(payload + "]");
            payload = opening(node);
        }
        payload = payload + "," + &text;
    }
    if payload.len() > opening(node).len() {
        payloads.push(payload + "]");
    }
    payloads
}

fn opening(node: i64) -> String {
    format!("[\"{}\"", sender(node))
}

fn sender(node: i64) -> String {
    format!("{node:x}")
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Reads a payload; `Ok(None)` if `node` sent it itself.
pub(crate) fn read(node: i64, payload: &str) -> Result<Option<Received>, serde_json::Error> {
    let words: Vec<String> = serde_json::from_str(payload)?;
    let mut words = words.iter().map(String::as_str);
    let sender = words.next().and_then(|text| u64::from_str_radix(text, 16).ok());
    let sender = sender.unwrap_or_default().cast_signed();
    if sender == node {
        return Ok(None);
    }
    let mut received = Received { sender, ..Received::default() };
    for word in words {
        let greeting = Greeting::ALL.into_iter().find(|greeting| greeting.word() == word);
        match greeting {
            Some(Greeting::WhoIsThere) => received.asks = true,
            Some(Greeting::Here) => received.changes = Changes::everything(),
            Some(Greeting::StillHere) => {}
            None => add_change(&mut received.changes, word),
        }
    }
    Ok(Some(received))
}

/// Ignores words of later releases.
fn add_change(changes: &mut Changes, word: &str) {
    match word {
        ORCHESTRATOR => changes.orchestrator_queue(),
        EVERY_INSTANCE => changes.every_instance = true,
        START_LIMITS => changes.start_limits(),
        WORK_LOCKS => changes.work_locks(),
        other => {
            if let Some(instance) = other.strip_prefix(INSTANCE) {
                changes.instance(instance);
            } else if let Some(instance) = other.strip_prefix(STEP) {
                changes.step(instance);
            } else if let Some(route) = other.strip_prefix(WORKER) {
                changes.worker_queue(route);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(payload: &str) -> Vec<String> {
        serde_json::from_str(payload).unwrap()
    }

    #[test]
    fn a_payload_names_the_changes() {
        let mut changes = Changes::default();
        changes.orchestrator_queue();
        changes.worker_queue("=gpu");
        changes.instance("order \"1\"");
        let sent = write(255, &[Greeting::StillHere], &changes);
        assert_eq!(sent.len(), 1);
        assert_eq!(words(&sent[0]), ["ff", "h", "o", "w=gpu", "iorder \"1\""]);
        assert!(write(1, &[], &Changes::default()).is_empty());
    }

    #[test]
    fn a_payload_is_read_by_other_nodes_only() {
        let mut changes = Changes::default();
        changes.start_limits();
        changes.step("a");
        let sent = write(1, &[Greeting::WhoIsThere], &changes);
        assert!(read(1, &sent[0]).unwrap().is_none());
        let received = read(2, &sent[0]).unwrap().unwrap();
        assert!(received.asks);
        assert_eq!(received.sender, 1);
        let negative = write(-3, &[Greeting::StillHere], &Changes::default());
        assert_eq!(read(2, &negative[0]).unwrap().unwrap().sender, -3);
        assert_eq!(received.changes, changes);
        assert!(read(2, "no json").is_err());
    }

    #[test]
    fn no_payload_is_too_long_for_the_server() {
        let mut changes = Changes::default();
        for number in 0..900 {
            changes.instance(&format!("a rather long name of an instance {number}"));
        }
        changes.instance(&"x".repeat(10_000));
        changes.worker_queue(&"y".repeat(10_000));
        let sent = write(-1, &[], &changes);
        assert!(sent.len() > 1);
        assert!(sent.iter().all(|payload| payload.len() < 8000));
        let all: Vec<String> = sent.iter().flat_map(|payload| words(payload)).collect();
        assert!(all.contains(&EVERY_INSTANCE.to_owned()) && all.contains(&"w*".to_owned()));
        assert_eq!(all.iter().filter(|word| word.starts_with("ia rather")).count(), 900);
    }
}
