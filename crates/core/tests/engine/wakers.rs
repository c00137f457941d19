//! Which wakes the engine accepts, and how many polls they cost.

use std::future::poll_fn;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::Duration;

use tokio::sync::oneshot;

use super::cpu_time::cpu_time;
use super::harness::{Harness, counted};

const MANY: usize = 10_000;

const NOT_DURABLE: &str =
    "failed config: nondeterministic: orchestration 'Sample' awaits something that is not durable";

fn completions(from: usize, to: usize) -> Vec<String> {
    (from..to).map(|id| format!("done {id} x")).collect()
}

fn turn(harness: &mut Harness, messages: &[String]) -> String {
    harness.turn(&messages.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn a_completion_polls_only_its_own_branch_of_a_join() {
    let polls = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&polls);
    let mut harness = Harness::new(move |ctx, _input| {
        let polls = Arc::clone(&counter);
        async move {
            let call = |_| counted(ctx.schedule_activity("A", ""), Arc::clone(&polls));
            let results = ctx.join((0..MANY).map(call).collect()).await;
            Ok(results.len().to_string())
        }
    });
    assert_eq!(harness.turn(&["start"]), "waiting");
    for from in (0..MANY).step_by(100) {
        let result = turn(&mut harness, &completions(from + 2, from + 102));
        let expected = if from + 100 < MANY { "waiting" } else { "completed 10000" };
        assert_eq!(result, expected);
    }
    // Each child is polled once when it starts and once when it completes.
    assert_eq!(polls.load(Ordering::SeqCst), 2 * MANY);

    let before_the_end = harness.history.len() - 1;
    polls.store(0, Ordering::SeqCst);
    let replayed = harness.open(&harness.history[..before_the_end]);
    assert!(replayed.is_ok());
    assert_eq!(polls.load(Ordering::SeqCst), 2 * MANY, "replay needs no more polls");
}

#[test]
fn a_chain_of_channels_between_branches_advances_in_one_turn_and_replays_equally() {
    const LINKS: usize = 300;
    let mut harness = Harness::new(|ctx, _input| async move {
        let (first, mut next_receiver) = oneshot::channel::<String>();
        let mut links = Vec::new();
        for link in 0..LINKS {
            let (sender, next) = oneshot::channel::<String>();
            let receiver = std::mem::replace(&mut next_receiver, next);
            links.push(async move {
                let text = receiver.await.unwrap_or_default();
                sender.send(format!("{link}")).is_ok() && !text.is_empty()
            });
        }
        // Reversed, so that every link is woken by one that is polled after it.
        links.reverse();
        let start = async {
            let text = ctx.schedule_activity("A", "").await.unwrap_or_default();
            first.send(text).is_ok()
        };
        let last = async { next_receiver.await.unwrap_or_default() };
        let (last, linked, sent) = ctx.join3(last, ctx.join(links), start).await;
        let after = ctx.schedule_activity("B", last).await?;
        Ok(format!("{} {after}", sent && linked.into_iter().all(|link| link)))
    });
    harness.turn(&["start"]);
    assert_eq!(harness.turn(&["done 2 x"]), "waiting");
    let scheduled = harness.history.last().expect("the second activity").kind.clone();
    assert!(format!("{scheduled:?}").contains("299"), "{scheduled:?}");
    harness.evict();
    assert_eq!(harness.turn(&["done 4 y"]), "completed true y");
    assert_eq!(harness.foreign_wakes(), 0);
}

#[tokio::test]
async fn channels_do_not_depend_on_the_budget_of_the_task_that_runs_the_turn() {
    // Inside a task, tokio makes its channels pretend to be empty after a number of reads.
    a_chain_of_channels_between_branches_advances_in_one_turn_and_replays_equally();
}

#[tokio::test(start_paused = true)]
async fn a_tokio_sleep_is_reported_and_fails_the_orchestration_by_name() {
    let mut harness = Harness::new(|ctx, _input| async move {
        let slept = async { tokio::time::sleep(Duration::from_secs(5)).await };
        Ok(ctx.select2(ctx.schedule_activity("A", ""), slept).await.index().to_string())
    });
    assert_eq!(harness.turn(&["start"]), "waiting");
    assert_eq!(harness.foreign_wakes(), 0);
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(harness.foreign_wakes(), 1);
    let result = harness.turn(&["foreign-wake"]);
    assert!(result.starts_with(NOT_DURABLE), "{result}");
}

#[tokio::test]
async fn code_that_awaits_nothing_durable_fails_in_its_first_turn() {
    let mut harness = Harness::new(|_ctx, _input| async move {
        tokio::time::sleep(Duration::from_secs(5)).await;
        Ok(String::new())
    });
    let result = harness.turn(&["start"]);
    assert!(result.starts_with(NOT_DURABLE), "{result}");
}

#[test]
fn code_that_never_completes_waits_until_it_is_cancelled() {
    let mut harness = Harness::new(|_ctx, _input| std::future::pending());
    assert_eq!(harness.turn(&["start"]), "waiting");
    assert!(harness.turn(&["cancel enough"]).contains("enough"));
}

#[test]
fn a_wake_from_another_thread_is_reported_and_fails_the_next_turn() {
    let (sender, receiver) = oneshot::channel::<()>();
    let receiver = Mutex::new(Some(receiver));
    let mut harness = Harness::new(move |ctx, _input| {
        let receiver = receiver.lock().expect("never poisoned").take();
        async move {
            let outside = async {
                match receiver {
                    Some(receiver) => receiver.await.is_ok(),
                    None => std::future::pending().await,
                }
            };
            Ok(ctx.select2(ctx.schedule_activity("A", ""), outside).await.index().to_string())
        }
    });
    assert_eq!(harness.turn(&["start"]), "waiting");
    std::thread::spawn(move || sender.send(())).join().expect("no panic").expect("a receiver");
    assert_eq!(harness.foreign_wakes(), 1);
    let result = harness.turn(&["done 2 x"]);
    assert!(result.starts_with(NOT_DURABLE), "{result}");
}

#[test]
fn a_reported_foreign_wake_fails_the_turn_of_an_evicted_execution() {
    let mut harness =
        Harness::new(|ctx, _input| async move { ctx.schedule_activity("A", "").await });
    harness.turn(&["start"]);
    harness.evict();
    let result = harness.turn(&["foreign-wake", "done 2 x"]);
    assert!(result.starts_with(NOT_DURABLE), "{result}");
}

#[test]
fn an_execution_may_run_each_turn_on_another_thread() {
    let mut harness = Harness::new(|ctx, _input| async move {
        let calls = (0..3).map(|_| ctx.schedule_activity("A", "")).collect();
        Ok(ctx.join(calls).await.len().to_string())
    });
    harness.turn(&["start"]);
    for id in 2..5 {
        harness = std::thread::spawn(move || {
            harness.turn(&[&format!("done {id} x")]);
            harness
        })
        .join()
        .expect("no panic");
    }
    let end = harness.history.last().expect("recorded");
    assert_eq!(super::render::event(end), "8 completed 3");
    assert_eq!(harness.foreign_wakes(), 0);
}

#[test]
fn eviction_cancels_nothing_and_is_not_a_foreign_wake() {
    let kept: Arc<Mutex<Option<Waker>>> = Arc::default();
    let slot = Arc::clone(&kept);
    let mut harness = Harness::new(move |ctx, _input| {
        let slot = Arc::clone(&slot);
        async move {
            let (sender, receiver) = oneshot::channel::<String>();
            // Dropping the sender wakes the receiver, which is dropped with it.
            let receiving = async { receiver.await.is_ok() };
            let sending = async {
                poll_fn(|cx| {
                    *slot.lock().expect("never poisoned") = Some(cx.waker().clone());
                    Poll::Ready(())
                })
                .await;
                let result = ctx.schedule_activity("A", "").await?;
                sender.send(result)
            };
            let held = (ctx.schedule_wait("go"), ctx.dequeue_event("q"));
            let child = ctx.schedule_sub_orchestration("Child", "");
            let ((received, sent), child) = ctx.join2(ctx.join2(receiving, sending), child).await;
            sent?;
            drop(held);
            Ok(format!("{received} {}", child?))
        }
    });
    assert_eq!(harness.turn(&["start"]), "waiting");
    let recorded = harness.history.len();
    harness.evict();
    kept.lock().expect("never poisoned").take().expect("polled").wake();
    assert_eq!(harness.foreign_wakes(), 0);
    assert_eq!(harness.turn(&[]), "waiting");
    assert_eq!(harness.history.len(), recorded, "nothing was dropped");
    assert_eq!(harness.turn(&["done 5 x", "child-done 4 y"]), "completed true y");
    assert_eq!(harness.foreign_wakes(), 0);
}

/// A join kept the waker of its caller even if no child could use it, so that the engine took it
/// for a foreign wait.
#[test]
fn a_join_of_something_that_never_completes_waits_like_it() {
    for nested in [false, true] {
        let mut harness = Harness::new(move |ctx, _input| async move {
            let never = || std::future::pending::<()>();
            match nested {
                false => drop(ctx.join(vec![never()]).await),
                true => drop(ctx.join(vec![ctx.join(vec![never(), never()])]).await),
            }
            Ok(String::new())
        });
        assert_eq!(harness.turn(&["start"]), "waiting");
        assert_eq!(harness.turn(&["signal Go"]), "waiting");
        assert!(harness.turn(&["cancel enough"]).starts_with("cancelled"), "it can be cancelled");
    }
}

#[test]
fn a_join_still_reports_a_foreign_wait_of_a_child() {
    let mut harness = Harness::new(|ctx, _input| async move {
        let (_sender, receiver) = oneshot::channel::<()>();
        let never = async { std::future::pending::<()>().await };
        let foreign = async { receiver.await.unwrap_or_default() };
        ctx.join2(ctx.join(vec![never]), ctx.join(vec![foreign])).await;
        std::mem::forget(_sender);
        Ok(String::new())
    });
    assert!(harness.turn(&["start"]).starts_with(NOT_DURABLE));
}

/// Fails if eight times as many cost much more than eight times as much: what grows with the square
/// would cost 64 times as much. The cheapest of several runs counts, because the machine is busy.
#[track_caller]
fn assert_linear(cost: impl Fn(usize) -> Duration) {
    const FEW: usize = 2_000;
    let quickest = |count| (0..3).map(|_| cost(count)).min().expect("three runs");
    let (few, many) = (quickest(FEW), quickest(8 * FEW));
    assert!(many < few * 24, "{few:?} for {FEW}, {many:?} for eight times as many");
}

/// Every dropped wait moved all later ones of its name: 60,000 of them took seconds.
#[test]
fn dropping_many_waits_of_one_name_costs_no_more_for_each() {
    assert_linear(|count| {
        let mut harness = Harness::new(move |ctx, _input| async move {
            let waits: Vec<_> = (0..count).map(|_| ctx.schedule_wait("Go")).collect();
            ctx.schedule_activity("A", "").await?;
            drop(waits);
            ctx.schedule_wait("Go").await;
            Ok("done".to_owned())
        });
        assert_eq!(harness.turn(&["start"]), "waiting");
        let (cost, turn) = cpu_time(|| harness.turn(&[&format!("done {} x", count + 2)]));
        assert_eq!(turn, "waiting");
        assert_eq!(harness.turn(&["signal Go"]), "completed done");
        cost
    });
}

/// Activities that their own turn dropped were searched for one by one: 60,000 took seconds.
#[test]
fn dropping_many_activities_of_the_same_turn_costs_no_more_for_each() {
    assert_linear(|count| {
        let mut harness = Harness::new(move |ctx, _input| async move {
            drop((0..count).map(|_| ctx.schedule_activity("A", "")).collect::<Vec<_>>());
            ctx.schedule_wait("Go").await;
            Ok("done".to_owned())
        });
        let (cost, turn) = cpu_time(|| harness.turn(&["start"]));
        assert_eq!(turn, "waiting");
        assert_eq!(harness.turn(&["signal Go"]), "completed done");
        cost
    });
}
