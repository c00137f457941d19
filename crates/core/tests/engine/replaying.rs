//! The replaying flag, and histories that cannot be replayed.

use std::sync::{Arc, Mutex};

use super::harness::Harness;

#[test]
pub(crate) fn is_replaying_is_true_exactly_for_events_of_earlier_turns() {
    let seen: Arc<Mutex<Vec<(u8, bool)>>> = Arc::default();
    let log = Arc::clone(&seen);
    let mut harness = Harness::new(move |ctx, _input| {
        let log = Arc::clone(&log);
        async move {
            let note =
                |place| log.lock().expect("never poisoned").push((place, ctx.is_replaying()));
            note(1);
            let first = ctx.schedule_activity("A", "");
            let second = ctx.schedule_activity("B", "");
            let _result = first.await;
            note(2);
            let _result = second.await;
            note(3);
            ctx.schedule_activity("C", "").await
        }
    });
    let mut turn = |messages: &[&str]| {
        harness.turn(messages);
        harness.evict();
        std::mem::take(&mut *seen.lock().expect("never poisoned"))
    };
    assert_eq!(turn(&["start"]), [(1, false)]);
    // The code moved on the last recorded event in the turn that recorded it.
    assert_eq!(turn(&["done 2 x"]), [(1, true), (2, false)]);
    assert_eq!(turn(&["signal any thing"]), [(1, true), (2, true)]);
    assert_eq!(turn(&["done 3 y"]), [(1, true), (2, true), (3, false)]);
    assert_eq!(turn(&["done 7 z"]), [(1, true), (2, true), (3, true)]);
}

#[test]
fn a_history_of_an_unknown_release_is_refused() {
    let mut harness =
        Harness::new(|ctx, _input| async move { ctx.schedule_activity("A", "").await });
    harness.turn(&["start"]);
    for pin in ["0.1.13", "0.1.33"] {
        let mut history = harness.history.clone();
        pin.clone_into(&mut history[0].duroxide_version);
        let error = harness.open(&history).expect_err("a refusal");
        let expected = format!(
            "nondeterministic: unsupported history: it is pinned at version {pin}, and this \
             release replays histories of 0.1.14 to 0.1.32 and from 0.2.0 on"
        );
        assert_eq!(error, expected);
    }
}

#[test]
pub(crate) fn a_history_without_a_start_is_corrupted() {
    let mut harness =
        Harness::new(|ctx, _input| async move { ctx.schedule_activity("A", "").await });
    harness.turn(&["start"]);
    let error = |from: usize, to: usize| harness.open(&harness.history[from..to]).err();
    assert_eq!(error(0, 0).as_deref(), Some("nondeterministic: corrupted history: empty"));
    assert_eq!(
        error(1, 2).as_deref(),
        Some("nondeterministic: corrupted history: first event must be OrchestrationStarted")
    );
    assert_eq!(error(0, 2), None);
}
