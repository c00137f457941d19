//! Activities that block a thread or eat memory do not hold up others.

use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use duroxide::providers::Provider;
use duroxide::runtime::RuntimeOptions;
use duroxide::runtime::registry::OrchestrationRegistryBuilder;
use duroxide::{ActivityContext, OrchestrationContext};

use crate::support::{
    Diary, Mode, Node, PATIENCE, USUAL, activities, in_every_mode, memory, orchestrations, until,
};

/// Long enough for a busy machine to renew it in time.
const LEASE: Duration = Duration::from_secs(1);
/// So long that the lease runs out twice unless it is renewed.
const BLOCKED: Duration = Duration::from_millis(2_500);

/// Much less than the lease of an activity whose result got lost.
const SOON: Duration = Duration::from_secs(10);

/// A thread that waits for the test.
type Gate = Arc<Mutex<mpsc::Receiver<()>>>;

fn gate() -> (mpsc::Sender<()>, Gate) {
    let (open, opened) = mpsc::channel();
    (open, Arc::new(Mutex::new(opened)))
}

fn block(gate: &Gate) {
    gate.lock().unwrap().recv_timeout(PATIENCE).expect("the test opens the gate");
}

fn one_call() -> OrchestrationRegistryBuilder {
    orchestrations().register("Call", |ctx: OrchestrationContext, name: String| async move {
        ctx.schedule_activity(name, "").await
    })
}

/// A lease that runs out several times while an activity blocks.
fn short_leases(mode: Mode) -> RuntimeOptions {
    RuntimeOptions {
        worker_concurrency: 2,
        worker_lock_timeout: LEASE,
        worker_lock_renewal_buffer: Duration::ZERO,
        activity_cancellation_grace_period: Duration::from_millis(50),
        ..mode.options()
    }
}

async fn a_blocking_activity_holds_up_nobody_and_keeps_its_lease(mode: Mode) {
    let (open, gate) = gate();
    let diary = Diary::default();
    let written = diary.clone();
    let handlers = activities()
        .register("Quick", |_: ActivityContext, _: String| async move { Ok("quick".to_owned()) })
        .register_blocking("Block", move |ctx: ActivityContext, _: String| {
            written.write(ctx.instance_id());
            block(&gate);
            Ok("blocked".to_owned())
        });
    let node = Node::on(&memory().await, short_leases(mode), one_call(), handlers).await;
    node.begin("blocks", "Call", "Block").await;
    assert_eq!(diary.next().await, "blocks");
    let began = Instant::now();
    let mut others = 0;
    while began.elapsed() < BLOCKED {
        assert_eq!(node.run(&format!("other-{others}"), "Call", "Quick").await, "quick");
        others += 1;
    }
    assert!(others > 10, "only {others} others ran");
    open.send(()).unwrap();
    assert_eq!(node.output("blocks").await, "blocked");
    assert!(diary.unread().is_empty(), "it ran once");
    node.stop().await;
}

async fn a_blocking_activity_is_cancelled_like_any_other(mode: Mode) {
    let (open, gate) = gate();
    let diary = Diary::default();
    let (attentive, stubborn) = (diary.clone(), diary.clone());
    let handlers = activities()
        .register_blocking("Attentive", move |ctx: ActivityContext, _: String| {
            attentive.write("began");
            let began = Instant::now();
            while !ctx.is_cancelled() && began.elapsed() < PATIENCE {
                std::thread::sleep(Duration::from_millis(1));
            }
            attentive.write("told");
            Err("stopped".to_owned())
        })
        .register_blocking("Stubborn", move |_: ActivityContext, _: String| {
            stubborn.write("began");
            block(&gate);
            stubborn.write("late");
            Ok(String::new())
        });
    let options = RuntimeOptions { worker_concurrency: 1, ..short_leases(mode) };
    let node = Node::on(&memory().await, options, one_call(), handlers).await;
    node.begin("attentive", "Call", "Attentive").await;
    assert_eq!(diary.next().await, "began");
    node.client.cancel_instance("attentive", "enough").await.unwrap();
    assert_eq!(diary.next().await, "told");
    for stubborn in ["first", "second"] {
        node.begin(stubborn, "Call", "Stubborn").await;
        assert_eq!(diary.next().await, "began", "the only slot is free again");
        node.client.cancel_instance(stubborn, "enough").await.unwrap();
        assert_eq!(node.failure_text(stubborn).await, "canceled: enough");
    }
    for _thread in 0..2 {
        open.send(()).unwrap();
        assert_eq!(diary.next().await, "late");
    }
    let counted = node.stop_and_count().await;
    assert_eq!((counted.activity_success, counted.activity_infra_errors), (0, 0));
}

in_every_mode! {
    a_blocking_activity_holds_up_nobody_and_keeps_its_lease,
    a_blocking_activity_is_cancelled_like_any_other,
}

#[tokio::test]
async fn a_panic_of_a_blocking_activity_is_an_error_of_its_call() {
    let handlers = activities()
        .register_blocking("Panic", |_: ActivityContext, _: String| panic!("in a thread"));
    let node = Node::start(USUAL, one_call(), handlers).await;
    node.begin("panics", "Call", "Panic").await;
    let text = node.failure_text("panics").await;
    assert!(text.ends_with("panicked with message \"in a thread\""), "{text}");
    node.stop().await;
}

#[tokio::test]
async fn a_node_stops_although_a_blocking_activity_goes_on() {
    let (open, gate) = gate();
    let diary = Diary::default();
    let written = diary.clone();
    let handlers = activities().register_blocking("Block", move |_: ActivityContext, _: String| {
        written.write("began");
        block(&gate);
        Ok(String::new())
    });
    let store: Arc<dyn Provider> = memory().await;
    let node = Node::on(&store, USUAL.options(), one_call(), handlers).await;
    node.begin("blocks", "Call", "Block").await;
    assert_eq!(diary.next().await, "began");
    let asked = Instant::now();
    node.runtime.clone().shutdown(Some(20)).await;
    assert!(asked.elapsed() < Duration::from_secs(5), "took {:?}", asked.elapsed());
    drop(node);
    assert!(Arc::strong_count(&store) > 1, "the thread holds its context");
    open.send(()).unwrap();
    until(|| Arc::strong_count(&store) == 1).await;
}

/// An async activity that blocks although it should not costs one thread of the executor, no more.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_async_activity_that_blocks_its_thread_leaves_the_others_to_the_rest() {
    let (open, gate) = gate();
    let diary = Diary::default();
    let written = diary.clone();
    let handlers = activities()
        .register("Quick", |_: ActivityContext, _: String| async move { Ok("quick".to_owned()) })
        .register("Block", move |_: ActivityContext, _: String| {
            let (gate, diary) = (gate.clone(), written.clone());
            async move {
                diary.write("began");
                // Whatever was woken by this thread must not wait for it.
                tokio::task::yield_now().await;
                block(&gate);
                Ok("blocked".to_owned())
            }
        });
    let node = Node::on(&memory().await, short_leases(USUAL), one_call(), handlers).await;
    node.begin("blocks", "Call", "Block").await;
    assert_eq!(diary.next().await, "began");
    let began = Instant::now();
    let mut others = 0;
    while began.elapsed() < BLOCKED {
        assert_eq!(node.run(&format!("other-{others}"), "Call", "Quick").await, "quick");
        others += 1;
    }
    open.send(()).unwrap();
    assert_eq!(node.output("blocks").await, "blocked");
    assert!(diary.unread().is_empty(), "its lease was kept: it ran once");
    node.stop().await;
}

// The signal used to be given by the task that runs the handler, which does not get round to it
// while the handler computes.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_async_activity_that_only_computes_sees_that_it_is_cancelled() {
    let diary = Diary::default();
    let written = diary.clone();
    let handlers = activities().register("Compute", move |ctx: ActivityContext, _: String| {
        let diary = written.clone();
        async move {
            diary.write("began");
            let began = Instant::now();
            while !ctx.is_cancelled() && began.elapsed() < PATIENCE {
                std::thread::sleep(Duration::from_millis(1));
            }
            diary.write(format!("told {}", ctx.is_cancelled()));
            Ok(String::new())
        }
    });
    let node = Node::start(USUAL, one_call(), handlers).await;
    node.begin("computes", "Call", "Compute").await;
    // Not `next`: what the handler wakes waits for its thread.
    until(|| diary.has_entries()).await;
    assert_eq!(diary.next().await, "began");
    node.client.cancel_instance("computes", "enough").await.unwrap();
    until(|| diary.has_entries()).await;
    assert_eq!(diary.next().await, "told true");
    node.stop().await;
}

// The siblings that a turn starts used to wait on the thread of the one that it goes on with.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_async_activity_that_blocks_does_not_hold_up_its_siblings() {
    let (open, gate) = gate();
    let diary = Diary::default();
    let written = diary.clone();
    let handlers = activities()
        .register("First", |_: ActivityContext, _: String| async move { Ok(String::new()) })
        .register("Sibling", move |_: ActivityContext, number: String| {
            let (gate, diary) = (gate.clone(), written.clone());
            async move {
                if number == "0" {
                    block(&gate);
                } else {
                    diary.write(number);
                }
                Ok(String::new())
            }
        });
    let registry =
        orchestrations().register("Fan", |ctx: OrchestrationContext, _: String| async move {
            ctx.schedule_activity("First", "").await?;
            let fan = (0..3).map(|number| ctx.schedule_activity("Sibling", number.to_string()));
            ctx.join(fan.collect()).await.into_iter().collect::<Result<Vec<_>, _>>()?;
            Ok("all".to_owned())
        });
    let options = RuntimeOptions { worker_concurrency: 8, ..USUAL.options() };
    let node = Node::on(&memory().await, options, registry, handlers).await;
    for round in 0..10 {
        let instance = format!("fan-{round}");
        node.begin(&instance, "Fan", "").await;
        let mut siblings = [diary.next().await, diary.next().await];
        siblings.sort();
        assert_eq!(siblings, ["1", "2"], "while the first one blocks");
        open.send(()).unwrap();
        let ended = node.client.wait_for_orchestration(&instance, SOON).await;
        assert!(ended.is_ok(), "{ended:?}: {:?}", node.history(&instance).await);
    }
    node.stop().await;
}

#[tokio::test]
async fn a_large_result_is_stored_while_others_go_on() {
    const LARGE: usize = 32 * 1024 * 1024;
    let handlers = activities()
        .register("Quick", |_: ActivityContext, _: String| async move { Ok("quick".to_owned()) })
        .register("Large", |_: ActivityContext, _: String| async move {
            let mut chunks = Vec::new();
            for _chunk in 0..LARGE / (1024 * 1024) {
                chunks.push("x".repeat(1024 * 1024));
                tokio::task::yield_now().await;
            }
            Ok(chunks.concat())
        });
    let node = Node::start(USUAL, one_call(), handlers).await;
    node.begin("large", "Call", "Large").await;
    for other in 0..20 {
        assert_eq!(node.run(&format!("other-{other}"), "Call", "Quick").await, "quick");
    }
    assert_eq!(node.output("large").await.len(), LARGE);
    node.stop().await;
}
