//! Activities that block a thread or use much memory do not delay others.

use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use duroxide::providers::Provider;
use duroxide::runtime::RuntimeOptions;
use duroxide::runtime::registry::OrchestrationRegistryBuilder;
use duroxide::{ActivityContext, OrchestrationContext};
use tokio::sync::Barrier;

use crate::support::{
    DEFAULT_MODE, Journal, Mode, Node, TIMEOUT, activities, eventually, in_every_mode, memory,
    orchestrations,
};

/// Long enough for a busy machine to renew it in time.
const LEASE: Duration = Duration::from_secs(1);
/// Long enough for the lease to expire twice without renewal.
const BLOCKED: Duration = Duration::from_millis(2_500);

/// Much shorter than the lease of an activity whose result was lost.
const SOON: Duration = Duration::from_secs(10);

/// Blocks a thread until the test opens it.
type Gate = Arc<Mutex<mpsc::Receiver<()>>>;

fn gate() -> (mpsc::Sender<()>, Gate) {
    let (open, opened) = mpsc::channel();
    (open, Arc::new(Mutex::new(opened)))
}

fn block(gate: &Gate) {
    gate.lock().unwrap().recv_timeout(TIMEOUT).expect("the test opens the gate");
}

fn one_call() -> OrchestrationRegistryBuilder {
    orchestrations().register("Call", |ctx: OrchestrationContext, name: String| async move {
        ctx.schedule_activity(name, "").await
    })
}

/// Leases that expire several times while an activity blocks.
fn short_leases(mode: Mode) -> RuntimeOptions {
    RuntimeOptions {
        worker_concurrency: 2,
        worker_lock_timeout: LEASE,
        worker_lock_renewal_buffer: Duration::ZERO,
        activity_cancellation_grace_period: Duration::from_millis(50),
        ..mode.options()
    }
}

async fn a_blocking_activity_delays_no_others_and_keeps_its_lease(mode: Mode) {
    let (open, gate) = gate();
    let journal = Journal::default();
    let written = journal.clone();
    let handlers = activities()
        .register("Quick", |_: ActivityContext, _: String| async move { Ok("quick".to_owned()) })
        .register_blocking("Block", move |ctx: ActivityContext, _: String| {
            written.write(ctx.instance_id());
            block(&gate);
            Ok("blocked".to_owned())
        });
    let node = Node::on(&memory().await, short_leases(mode), one_call(), handlers).await;
    node.start_instance("blocks", "Call", "Block").await;
    assert_eq!(journal.next().await, "blocks");
    let start = Instant::now();
    let mut others = 0;
    while start.elapsed() < BLOCKED {
        assert_eq!(node.run(&format!("other-{others}"), "Call", "Quick").await, "quick");
        others += 1;
    }
    assert!(others > 10, "only {others} others ran");
    open.send(()).unwrap();
    assert_eq!(node.output("blocks").await, "blocked");
    assert!(journal.unread().is_empty(), "it ran once");
    node.stop().await;
}

async fn a_blocking_activity_can_be_cancelled(mode: Mode) {
    let (open, gate) = gate();
    let journal = Journal::default();
    let (attentive, stubborn) = (journal.clone(), journal.clone());
    let handlers = activities()
        .register_blocking("Attentive", move |ctx: ActivityContext, _: String| {
            attentive.write("started");
            let start = Instant::now();
            while !ctx.is_cancelled() && start.elapsed() < TIMEOUT {
                std::thread::sleep(Duration::from_millis(1));
            }
            attentive.write("cancelled");
            Err("stopped".to_owned())
        })
        .register_blocking("Stubborn", move |_: ActivityContext, _: String| {
            stubborn.write("started");
            block(&gate);
            stubborn.write("late");
            Ok(String::new())
        });
    let options = RuntimeOptions { worker_concurrency: 1, ..short_leases(mode) };
    let node = Node::on(&memory().await, options, one_call(), handlers).await;
    node.start_instance("attentive", "Call", "Attentive").await;
    assert_eq!(journal.next().await, "started");
    node.client.cancel_instance("attentive", "enough").await.unwrap();
    assert_eq!(journal.next().await, "cancelled");
    for stubborn in ["first", "second"] {
        node.start_instance(stubborn, "Call", "Stubborn").await;
        assert_eq!(journal.next().await, "started", "the only slot is free again");
        node.client.cancel_instance(stubborn, "enough").await.unwrap();
        assert_eq!(node.failure_text(stubborn).await, "canceled: enough");
    }
    for _thread in 0..2 {
        open.send(()).unwrap();
        assert_eq!(journal.next().await, "late");
    }
    let counted = node.stop_and_count().await;
    assert_eq!((counted.activity_success, counted.activity_infra_errors), (0, 0));
}

in_every_mode! {
    a_blocking_activity_delays_no_others_and_keeps_its_lease,
    a_blocking_activity_can_be_cancelled,
}

#[tokio::test]
async fn a_panic_of_a_blocking_activity_is_an_error_of_its_call() {
    let handlers = activities()
        .register_blocking("Panic", |_: ActivityContext, _: String| panic!("in a thread"));
    let node = Node::start(DEFAULT_MODE, one_call(), handlers).await;
    node.start_instance("panics", "Call", "Panic").await;
    let text = node.failure_text("panics").await;
    assert!(text.ends_with("panicked with message \"in a thread\""), "{text}");
    node.stop().await;
}

#[tokio::test]
async fn a_node_stops_although_a_blocking_activity_still_runs() {
    let (open, gate) = gate();
    let journal = Journal::default();
    let written = journal.clone();
    let handlers = activities().register_blocking("Block", move |_: ActivityContext, _: String| {
        written.write("started");
        block(&gate);
        Ok(String::new())
    });
    let store: Arc<dyn Provider> = memory().await;
    let node = Node::on(&store, DEFAULT_MODE.options(), one_call(), handlers).await;
    node.start_instance("blocks", "Call", "Block").await;
    assert_eq!(journal.next().await, "started");
    let start = Instant::now();
    node.runtime.clone().shutdown(Some(20)).await;
    assert!(start.elapsed() < Duration::from_secs(5), "took {:?}", start.elapsed());
    drop(node);
    assert!(Arc::strong_count(&store) > 1, "the thread holds its context");
    open.send(()).unwrap();
    eventually(|| Arc::strong_count(&store) == 1).await;
}

/// An async activity that blocks, although it should not, occupies only one thread of the executor.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_async_activity_that_blocks_occupies_only_its_own_thread() {
    let (open, gate) = gate();
    let journal = Journal::default();
    let written = journal.clone();
    let handlers = activities()
        .register("Quick", |_: ActivityContext, _: String| async move { Ok("quick".to_owned()) })
        .register("Block", move |_: ActivityContext, _: String| {
            let (gate, journal) = (gate.clone(), written.clone());
            async move {
                journal.write("started");
                // Tasks that this thread has woken must not wait for it.
                tokio::task::yield_now().await;
                block(&gate);
                Ok("blocked".to_owned())
            }
        });
    let node = Node::on(&memory().await, short_leases(DEFAULT_MODE), one_call(), handlers).await;
    node.start_instance("blocks", "Call", "Block").await;
    assert_eq!(journal.next().await, "started");
    let start = Instant::now();
    let mut others = 0;
    while start.elapsed() < BLOCKED {
        assert_eq!(node.run(&format!("other-{others}"), "Call", "Quick").await, "quick");
        others += 1;
    }
    open.send(()).unwrap();
    assert_eq!(node.output("blocks").await, "blocked");
    assert!(journal.unread().is_empty(), "its lease was renewed: it ran once");
    node.stop().await;
}

/// Renewals ran on the executor of the program. Activities that blocked all its threads lost their
/// leases to another node, ran again, and were poisoned although every run succeeded.
#[test]
fn activities_that_block_every_thread_keep_their_leases() {
    const THREADS: usize = 2;
    let executor = || {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(THREADS).enable_all().build().unwrap()
    };
    let (blocked, other) = (executor(), executor());
    let (started, starts) = mpsc::channel();
    // Twice as many as threads: half of them wait for a thread.
    let all_started = Arc::new(Barrier::new(2 * THREADS));
    let handlers = |node: &'static str| {
        let (started, all_started) = (started.clone(), Arc::clone(&all_started));
        activities().register("Block", move |ctx: ActivityContext, _: String| {
            started.send((node, ctx.instance_id().to_owned(), ctx.attempt())).unwrap();
            let all_started = Arc::clone(&all_started);
            async move {
                all_started.wait().await;
                std::thread::sleep(BLOCKED);
                Ok("blocked".to_owned())
            }
        })
    };
    let options = RuntimeOptions { worker_concurrency: 8, ..short_leases(DEFAULT_MODE) };
    let store = blocked.block_on(memory());
    let node = blocked.block_on(Node::on(&store, options.clone(), one_call(), handlers("blocked")));
    let instances: Vec<String> = (0..2 * THREADS).map(|n| format!("blocks-{n}")).collect();
    blocked.block_on(async {
        for instance in &instances {
            node.start_instance(instance, "Call", "Block").await;
        }
    });
    for _activity in &instances {
        assert_eq!(starts.recv_timeout(TIMEOUT).unwrap().0, "blocked");
    }
    let rival = other.block_on(Node::on(&store, options, one_call(), handlers("other")));
    other.block_on(async {
        for instance in &instances {
            assert_eq!(rival.output(instance).await, "blocked");
        }
    });
    let again: Vec<_> = starts.try_iter().collect();
    assert_eq!(again, [], "each ran once");
    other.block_on(rival.stop());
    blocked.block_on(node.stop());
}

// The task that runs the handler used to fire the token, which it cannot do while the handler
// computes.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_async_activity_that_only_computes_can_be_cancelled() {
    let journal = Journal::default();
    let written = journal.clone();
    let handlers = activities().register("Compute", move |ctx: ActivityContext, _: String| {
        let journal = written.clone();
        async move {
            journal.write("started");
            let start = Instant::now();
            while !ctx.is_cancelled() && start.elapsed() < TIMEOUT {
                std::thread::sleep(Duration::from_millis(1));
            }
            journal.write(format!("cancelled {}", ctx.is_cancelled()));
            Ok(String::new())
        }
    });
    let node = Node::start(DEFAULT_MODE, one_call(), handlers).await;
    node.start_instance("computes", "Call", "Compute").await;
    // Not `next`: the task that the handler wakes waits for its thread.
    eventually(|| journal.has_entries()).await;
    assert_eq!(journal.next().await, "started");
    node.client.cancel_instance("computes", "enough").await.unwrap();
    eventually(|| journal.has_entries()).await;
    assert_eq!(journal.next().await, "cancelled true");
    node.stop().await;
}

// The siblings that a turn starts used to wait on the thread of the activity that it runs next.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_async_activity_that_blocks_does_not_delay_its_siblings() {
    let (open, gate) = gate();
    let journal = Journal::default();
    let written = journal.clone();
    let handlers = activities()
        .register("First", |_: ActivityContext, _: String| async move { Ok(String::new()) })
        .register("Sibling", move |_: ActivityContext, number: String| {
            let (gate, journal) = (gate.clone(), written.clone());
            async move {
                if number == "0" {
                    block(&gate);
                } else {
                    journal.write(number);
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
    let options = RuntimeOptions { worker_concurrency: 8, ..DEFAULT_MODE.options() };
    let node = Node::on(&memory().await, options, registry, handlers).await;
    for round in 0..10 {
        let instance = format!("fan-{round}");
        node.start_instance(&instance, "Fan", "").await;
        let mut siblings = [journal.next().await, journal.next().await];
        siblings.sort();
        assert_eq!(siblings, ["1", "2"], "while the first one blocks");
        open.send(()).unwrap();
        let result = node.client.wait_for_orchestration(&instance, SOON).await;
        assert!(result.is_ok(), "{result:?}: {:?}", node.history(&instance).await);
    }
    node.stop().await;
}

#[tokio::test]
async fn storing_a_large_result_does_not_block_others() {
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
    let node = Node::start(DEFAULT_MODE, one_call(), handlers).await;
    node.start_instance("large", "Call", "Large").await;
    for other in 0..20 {
        assert_eq!(node.run(&format!("other-{other}"), "Call", "Quick").await, "quick");
    }
    assert_eq!(node.output("large").await.len(), LARGE);
    node.stop().await;
}
