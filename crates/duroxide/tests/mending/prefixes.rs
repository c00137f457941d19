//! Every prefix that is composed replays with the code that recorded it.

use duroxide::check::{Checker, Verdict};
use duroxide::client::{LaterMessages, LaterResults, MendOptions, MendPlan, MendPoint};
use duroxide::histories::{HistoryReader, RecordedHistory};

#[path = "../histories/code.rs"]
mod code;

fn recorded(version: &str) -> Vec<RecordedHistory> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/histories/recorded");
    let path = format!("{folder}/{version}.jsonl");
    let file = std::fs::File::open(&path).unwrap();
    let mut reader = HistoryReader::new(path, std::io::BufReader::new(file)).unwrap();
    let mut found = Vec::new();
    while let Some(raw) = reader.next_raw().unwrap() {
        found.push(raw.decode().unwrap());
    }
    found
}

/// The recordings have every kind of event. Their code accepts each of their prefixes, and each of
/// the prefixes of those.
#[test]
fn every_prefix_of_the_recordings_replays() {
    let checker = Checker::new(code::orchestrations());
    let choices = [
        MendOptions::default(),
        MendOptions::default().with_messages(LaterMessages::Drop),
        MendOptions::default().with_results(LaterResults::RunAgain),
    ];
    let mut checked = 0;
    for history in ["0.1.32", "0.2.0"].into_iter().flat_map(recorded) {
        for options in &choices {
            for event in &history.events {
                let point = MendPoint::Event(event.event_id);
                let plan = MendPlan::of_history(&history, point, options).unwrap();
                assert_fine(&checker, &plan);
                let again = MendPlan::of_history(plan.history(), MendPoint::First, options);
                assert_fine(&checker, &again.unwrap());
                checked += 1;
            }
        }
    }
    assert!(checked > 1_000, "only {checked} prefixes");
}

#[test]
fn every_recorded_failure_can_be_retried() {
    let checker = Checker::new(code::orchestrations());
    let mut retried = 0;
    for history in ["0.1.32", "0.2.0"].into_iter().flat_map(recorded) {
        let options = MendOptions::default();
        let plan = MendPlan::of_history(&history, MendPoint::LastFailed, &options);
        let kinds = history.events.iter().map(|event| event.kind.type_tag());
        match kinds.clone().any(|kind| kind == "OrchestrationFailed") {
            true => {
                assert_fine(&checker, &plan.unwrap());
                retried += 1;
            }
            false => assert!(plan.is_err(), "{:?}", history.instance_id),
        }
    }
    assert!(retried > 5, "only {retried} failures");
}

/// The code agrees with what is kept. Code that panicked does so again.
fn assert_fine(checker: &Checker, plan: &MendPlan) {
    let checked = checker.check_plan(plan);
    let panics = match &checked.verdict {
        Verdict::Differs(found) => found.message.starts_with("orchestration panicked: as asked"),
        _ => false,
    };
    assert!(checked.verdict.is_fine() || panics, "{checked}\n{plan}");
    let ids = plan.history().events.iter().map(|event| event.event_id);
    assert!(ids.clone().zip(ids.skip(1)).all(|(one, next)| one < next));
    let ended = plan.history().events.iter().any(duroxide::Event::is_terminal);
    assert!(!ended, "{plan}");
}
