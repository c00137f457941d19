//! The engine contains panics of user code.

use super::harness::Harness;

/// Panics when it is dropped, unless the thread already panics.
struct PanicsOnDrop;

impl Drop for PanicsOnDrop {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("dropped a bomb");
        }
    }
}

#[test]
fn a_panic_in_a_destructor_fails_the_orchestration() {
    let mut harness = Harness::new(|ctx, _input| async move {
        let guard = PanicsOnDrop;
        let result = ctx.schedule_activity("A", "").await;
        drop(guard);
        result
    });
    harness.turn(&["start"]);
    assert_eq!(harness.turn(&["done 2 x"]), "failed panic: orchestration panicked: dropped a bomb");
}

#[test]
fn a_panic_in_a_destructor_during_eviction_is_contained() {
    let mut harness = Harness::new(|ctx, _input| async move {
        let guard = PanicsOnDrop;
        let result = ctx.schedule_activity("A", "").await;
        std::mem::forget(guard);
        result
    });
    harness.turn(&["start"]);
    harness.evict();
    assert_eq!(harness.turn(&["done 2 x"]), "completed x");
}

#[test]
fn a_panic_of_the_handler_before_its_future_exists_fails_the_orchestration() {
    let mut harness = Harness::new(|_ctx, _input| {
        if std::hint::black_box(true) {
            panic!("no future");
        }
        std::future::ready(Ok(String::new()))
    });
    assert_eq!(harness.turn(&["start"]), "failed panic: orchestration panicked: no future");
}

#[test]
fn a_panic_in_one_branch_does_not_record_the_others_as_dropped() {
    let mut harness = Harness::new(|ctx, _input| async move {
        let bad = async {
            let _result = ctx.schedule_activity("A", "").await;
            panic!("bad branch")
        };
        let (_never, result): ((), _) = ctx.join2(bad, ctx.schedule_activity("B", "")).await;
        result
    });
    harness.turn(&["start"]);
    let result = harness.turn(&["done 3 x"]);
    assert_eq!(result, "failed panic: orchestration panicked: bad branch");
    let last = harness.history.last().expect("recorded");
    assert_eq!(super::render::event(last), "6 cancel-activity 2 orchestration_terminal_failed");
}

#[test]
fn a_panic_during_replay_is_the_result_of_the_next_turn() {
    let mut harness = Harness::new(|ctx, _input| async move {
        if ctx.is_replaying() {
            panic!("only in replay");
        }
        ctx.schedule_activity("A", "").await
    });
    harness.turn(&["start"]);
    harness.evict();
    assert_eq!(harness.turn(&["done 2 x"]), "failed panic: orchestration panicked: only in replay");
}
