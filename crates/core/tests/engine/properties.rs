//! Random programs in a random world: an execution decides the same, warm, replayed or evicted.

mod mending;
mod program;
mod subject;
mod world;

use std::collections::{BTreeMap, HashSet};

use duroxide_core::engine::{Turn, TurnResult};
use duroxide_core::{EventKind, WorkItem};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, RngSeed, TestRunner};

use program::{Block, Point, program};
use subject::{Batch, Keeping, Subject};
use world::{TURNS_MAX, World};

/// A fixed seed gives the same programs on every run, so that failures are reproducible.
fn config(cases: u32) -> Config {
    Config {
        cases,
        failure_persistence: None,
        rng_algorithm: RngAlgorithm::ChaCha,
        rng_seed: RngSeed::Fixed(20_260_731),
        ..Config::default()
    }
}

/// The whole run of an instance: the batches, and the turn for each of them.
struct Run {
    batches: Vec<Batch>,
    turns: Vec<Turn>,
}

/// Runs once, warm, and checks the invariants of every turn.
fn run_warm(program: &Block, pin: &str, seed: u64) -> Result<Run, TestCaseError> {
    let mut world = World::new(seed);
    let mut subject = Subject::new(program.clone(), pin, Keeping::Warm);
    let mut run = Run { batches: Vec::new(), turns: Vec::new() };
    for _turn in 0..TURNS_MAX {
        let batch = world.batch();
        let before = if batch.start.is_some() { 0 } else { last_id(&subject) };
        let turn = subject.run_turn(&batch);
        check_ids_grow(before, &turn)?;
        check_messages_are_recorded(&subject, &turn)?;
        if matches!(turn.result, TurnResult::ContinueAsNew { .. }) {
            let expected = match pin {
                "0.1.30" => beyond_open_dequeues(&subject, &world),
                _newer => unread(&subject, &world),
            };
            prop_assert_eq!(carried(&turn), expected);
        }
        let is_running = world.commit(&turn, &subject.history);
        run.batches.push(batch);
        run.turns.push(turn);
        if !is_running {
            check_replayed_points(&subject, Keeping::Warm)?;
            return Ok(run);
        }
    }
    Err(TestCaseError::fail("all actions completed and the program did not"))
}

fn last_id(subject: &Subject) -> u64 {
    subject.history.last().map_or(0, |event| event.event_id)
}

fn check_ids_grow(before: u64, turn: &Turn) -> Result<(), TestCaseError> {
    let mut last = before;
    for event in &turn.events {
        prop_assert!(event.event_id > last, "{} after {last}", event.event_id);
        last = event.event_id;
    }
    Ok(())
}

fn check_messages_are_recorded(subject: &Subject, turn: &Turn) -> Result<(), TestCaseError> {
    let schedules: BTreeMap<u64, &EventKind> =
        subject.history.iter().map(|event| (event.event_id, &event.kind)).collect();
    let new: HashSet<u64> = turn.events.iter().map(|event| event.event_id).collect();
    for item in turn.worker_items.iter().chain(&turn.orchestrator_items) {
        let (id, recorded) = match item {
            WorkItem::ActivityExecute { id, .. } => {
                (id, matches!(schedules.get(id), Some(EventKind::ActivityScheduled { .. })))
            }
            WorkItem::TimerFired { id, fire_at_ms, .. } => {
                let timer = EventKind::TimerCreated { fire_at_ms: *fire_at_ms };
                (id, schedules.get(id) == Some(&&timer))
            }
            WorkItem::StartOrchestration { parent_id: Some(id), .. } => {
                (id, matches!(schedules.get(id), Some(EventKind::SubOrchestrationScheduled { .. })))
            }
            _not_a_schedule => continue,
        };
        prop_assert!(recorded && new.contains(id), "{item:?} was not recorded in this turn");
    }
    for id in &turn.cancelled_activities {
        let scheduled = matches!(schedules.get(id), Some(EventKind::ActivityScheduled { .. }));
        prop_assert!(scheduled, "{id} is no activity");
        let requested = turn.events.iter().any(|event| {
            event.source_event_id == Some(*id)
                && matches!(event.kind, EventKind::ActivityCancelRequested { .. })
        });
        prop_assert!(requested, "the cancellation of {id} is not recorded in this turn");
    }
    Ok(())
}

fn carried(turn: &Turn) -> Vec<(String, String)> {
    let carried = turn.orchestrator_items.iter().find_map(|item| match item {
        WorkItem::ContinueAsNew { carry_forward_events, .. } => Some(carry_forward_events.clone()),
        _other => None,
    });
    carried.unwrap_or_default()
}

/// Messages that no dequeue returned to the code.
fn unread(subject: &Subject, world: &World) -> Vec<(String, String)> {
    let runs = subject.logs.last().expect("one for each execution").runs();
    let read: HashSet<&str> =
        runs.iter().flatten().filter_map(|point| point.what.strip_prefix("message ")).collect();
    world.arrivals.iter().filter(|(_, data)| !read.contains(data.as_str())).cloned().collect()
}

/// Messages beyond the number of open dequeues of their queue, according to history.
fn beyond_open_dequeues(subject: &Subject, world: &World) -> Vec<(String, String)> {
    let mut dequeues: BTreeMap<u64, &str> = BTreeMap::new();
    for event in &subject.history {
        match (&event.kind, event.source_event_id) {
            (EventKind::QueueSubscribed { name }, _) => {
                dequeues.insert(event.event_id, name);
            }
            (EventKind::QueueSubscriptionCancelled { reason }, Some(id))
                if reason == "dropped_future" =>
            {
                dequeues.remove(&id);
            }
            _not_about_dequeues => {}
        }
    }
    let mut left: BTreeMap<&str, usize> = BTreeMap::new();
    for name in dequeues.values() {
        *left.entry(name).or_default() += 1;
    }
    let beyond = world.arrivals.iter().filter(|(name, _)| match left.get_mut(name.as_str()) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _no_dequeue_left => true,
    });
    beyond.cloned().collect()
}

/// Each point is passed once for the first time, and as a replay after that.
fn check_replayed_points(subject: &Subject, keeping: Keeping) -> Result<(), TestCaseError> {
    for log in &subject.logs {
        let mut known: Vec<Point> = Vec::new();
        for run in log.runs() {
            prop_assert!(run.len() >= known.len(), "{keeping:?}: a replay stopped early");
            for (at, point) in run.iter().enumerate() {
                prop_assert_eq!(point.replaying, at < known.len(), "{:?} {:?}", keeping, point);
            }
            for (before, again) in known.iter().zip(&run) {
                prop_assert_eq!(&before.what, &again.what, "{:?}", keeping);
            }
            known = run;
        }
    }
    Ok(())
}

fn same(a: &Turn, b: &Turn) -> bool {
    a.events == b.events
        && a.worker_items == b.worker_items
        && a.orchestrator_items == b.orchestrator_items
        && a.cancelled_activities == b.cancelled_activities
        && a.result == b.result
}

/// Runs the same batches again, with another way to keep the execution.
fn run_again(run: &Run, program: &Block, pin: &str, keeping: Keeping) -> Result<(), TestCaseError> {
    let mut subject = Subject::new(program.clone(), pin, keeping);
    for (number, (batch, expected)) in run.batches.iter().zip(&run.turns).enumerate() {
        let turn = subject.run_turn(batch);
        prop_assert!(
            same(&turn, expected),
            "turn {} of {} differs when {keeping:?}:\n{turn:#?}\n{expected:#?}",
            number + 1,
            run.turns.len()
        );
    }
    if keeping != Keeping::Crashing {
        check_replayed_points(&subject, keeping)?;
    }
    Ok(())
}

fn decides_the_same(program: &Block, pin: &str, seed: u64) -> Result<(), TestCaseError> {
    let run = run_warm(program, pin, seed)?;
    for keeping in [Keeping::Cold, Keeping::Crashing, Keeping::Evicting] {
        run_again(&run, program, pin, keeping)?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn a_program_decides_the_same_warm_cold_crashing_or_evicted(program in program(), seed: u64) {
        decides_the_same(&program, "0.2.0", seed)?;
    }
}

proptest! {
    #![proptest_config(config(150))]

    #[test]
    fn a_program_decides_the_same_with_the_rules_of_0_1_32(program in program(), seed: u64) {
        decides_the_same(&program, "0.1.32", seed)?;
    }

    #[test]
    fn a_program_decides_the_same_with_the_rules_of_0_1_30(program in program(), seed: u64) {
        decides_the_same(&program, "0.1.30", seed)?;
    }
}

/// Runs code that is patched after some turns. Code and history must never disagree.
fn adopts_patches(program: &Block, seed: u64, turns: u64) -> Result<(), TestCaseError> {
    let mut world = World::new(seed);
    let mut warm = Subject::new(program.clone(), "0.2.0", Keeping::Warm).patched_after(turns);
    let others = [Keeping::Cold, Keeping::Crashing, Keeping::Evicting];
    let mut others =
        others.map(|keeping| Subject::new(program.clone(), "0.2.0", keeping).patched_after(turns));
    for _turn in 0..TURNS_MAX {
        let batch = world.batch();
        let turn = warm.run_turn(&batch);
        for other in &mut others {
            let again = other.run_turn(&batch);
            prop_assert!(same(&again, &turn), "{again:#?}\n{turn:#?}");
        }
        if let TurnResult::Failed(details) = &turn.result {
            // The world may send a completion of nothing.
            let text = details.display_message();
            let disagrees = text.starts_with("nondeterministic") && !text.contains(" for id=");
            prop_assert!(!disagrees || text.contains("no matching schedule"), "{text}");
        }
        if !world.commit(&turn, &warm.history) {
            return Ok(());
        }
    }
    Err(TestCaseError::fail("all actions completed and the program did not"))
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn code_that_is_patched_at_any_time_agrees_with_history(
        program in program(), seed: u64, turns in 0..12_u64,
    ) {
        adopts_patches(&program, seed, turns)?;
    }
}

/// The properties above prove something only if the random runs cover every kind of event.
#[test]
fn random_runs_cover_every_kind_of_event_and_complete() {
    const TERMINAL: [&str; 3] =
        ["OrchestrationCompleted", "OrchestrationFailed", "OrchestrationContinuedAsNew"];
    const SCHEDULES: [&str; 10] = [
        "ActivityScheduled",
        "TimerCreated",
        "ExternalSubscribed",
        "ExternalSubscribedPersistent",
        "SubOrchestrationScheduled",
        "OrchestrationChained",
        "CustomStatusUpdated",
        "KeyValueSet",
        "KeyValueCleared",
        "KeyValuesCleared",
    ];
    const DROPS: [&str; 4] = [
        "ActivityCancelRequested",
        "SubOrchestrationCancelRequested",
        "ExternalSubscribedCancelled",
        "ExternalSubscribedPersistentCancelled",
    ];
    let mut runner = TestRunner::new(config(1));
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut turns = 0;
    for seed in 0..300 {
        let program = program().new_tree(&mut runner).expect("a program").current();
        let run = run_warm(&program, "0.2.0", seed).expect("a run that completes");
        turns += run.turns.len();
        for event in run.turns.iter().flat_map(|turn| &turn.events) {
            *seen.entry(event.kind.type_tag()).or_default() += 1;
        }
        let cancelled = |turn: &Turn| matches!(turn.result, TurnResult::Cancelled { .. });
        *seen.entry("cancelled").or_default() += run.turns.iter().filter(|t| cancelled(t)).count();
    }
    assert!(turns > 1000, "runs are too short: {turns} turns");
    let completions = ["ActivityCompleted", "ActivityFailed", "TimerFired", "cancelled"];
    for kind in TERMINAL.iter().chain(&SCHEDULES).chain(&DROPS).chain(&completions) {
        assert!(seen.get(kind).is_some_and(|count| *count >= 5), "too few {kind}: {seen:?}");
    }
}
