//! How fast the checker is. Decoding counts: the histories are in a file.

use std::io::BufWriter;

use duroxide::check::Checker;
use duroxide::histories::{HistoryWriter, RecordedHistory};
use duroxide::{Event, EventKind, OrchestrationContext, OrchestrationRegistry};

const EXECUTIONS: u64 = 200;
const STEPS: u64 = 500;
/// Events that one core checks in a second.
const PROMISED: f64 = 100_000.0;

fn event(instance: &str, event_id: u64, source_event_id: Option<u64>, kind: EventKind) -> Event {
    let mut event = Event::new(instance, 1, source_event_id, kind);
    event.event_id = event_id;
    event
}

fn chain(instance: &str) -> RecordedHistory {
    let start = EventKind::OrchestrationStarted {
        name: "Chain".to_owned(),
        version: "1.0.0".to_owned(),
        input: STEPS.to_string(),
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        carry_forward_events: None,
        initial_custom_status: None,
    };
    let mut events = vec![event(instance, 1, None, start)];
    for step in 0..STEPS {
        let id = 2 * step + 2;
        let input = format!("step {step} of a chain that has an input of an ordinary length");
        let (name, result) = ("Step".to_owned(), input.clone());
        let scheduled = EventKind::ActivityScheduled { name, input, session_id: None, tag: None };
        events.push(event(instance, id, None, scheduled));
        events.push(event(instance, id + 1, Some(id), EventKind::ActivityCompleted { result }));
    }
    RecordedHistory::new(instance, 1, events)
}

fn code() -> OrchestrationRegistry {
    OrchestrationRegistry::builder()
        .register("Chain", |ctx: OrchestrationContext, steps: String| async move {
            for step in 0..steps.parse::<u64>().unwrap_or(0) {
                let input =
                    format!("step {step} of a chain that has an input of an ordinary length");
                ctx.schedule_activity("Step", input).await?;
            }
            Ok(ctx.schedule_wait("never").await)
        })
        .build()
}

/// A measurement, which needs a release build and a quiet machine:
/// `DUROXIDE_MEASURE=1 cargo test --release -p duroxide --test histories speed -- --nocapture`.
#[test]
fn one_core_checks_the_promised_number_of_events_in_a_second() {
    if std::env::var_os("DUROXIDE_MEASURE").is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = std::fs::File::create(folder.path().join("chains.jsonl")).unwrap();
    let mut writer = HistoryWriter::new("chains.jsonl", BufWriter::new(file)).unwrap();
    for n in 0..EXECUTIONS {
        writer.write(&chain(&format!("chain-{n}"))).unwrap();
    }
    writer.finish().unwrap();
    let report = Checker::new(code()).with_parallelism(1).check_folder(folder.path()).unwrap();
    report.assert_compatible();
    let events = report.progress.events as f64;
    let rate = events / report.elapsed.as_secs_f64();
    println!("{events} events in {:?}: {rate:.0} in a second", report.elapsed);
    assert!(cfg!(debug_assertions) || rate >= PROMISED, "{rate:.0} events in a second");
}
