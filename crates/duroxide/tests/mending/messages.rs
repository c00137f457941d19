//! Signals, queue messages and timers that came after the kept events.

use std::time::Duration;

use duroxide::client::{LaterMessages, LaterResults, MendPoint};
use duroxide::{Event, EventKind, MendMarker, OrchestrationContext};

use crate::support::{Node, Store, Workshop, count, event_of, options, orchestrations};

async fn approval(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    let first = ctx.schedule_activity("hold", "first").await?;
    let one = ctx.schedule_wait("approve").await;
    let second = ctx.schedule_activity("work", "second").await?;
    let two = ctx.schedule_wait("approve").await;
    let third = ctx.schedule_activity("work", "third").await?;
    Ok(format!("{first} {one} {second} {two} {third}"))
}

async fn reading(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    let mut seen = Vec::new();
    for step in ["x", "y", "z"] {
        let message = ctx.dequeue_event("orders").await;
        seen.push(ctx.schedule_activity("work", format!("{step}{message}")).await?);
    }
    Ok(seen.join(" "))
}

on_every_store!(
    later_signals_wait_for_their_waits,
    later_signals_are_dropped_if_asked,
    a_signal_to_an_open_wait_arrives_at_once,
    held_signals_survive_a_second_reset,
    later_queue_messages_arrive_again,
    later_messages_keep_their_order,
    timers_keep_their_times,
    later_results_arrive_or_run_again,
    carried_messages_are_never_lost,
);

async fn approved(node: &Node, instance: &str) {
    for (number, data) in [(1, "yes"), (2, "also")] {
        node.until(instance, |history| count(history, "ExternalSubscribed") == number).await;
        node.client.raise_event(instance, "approve", data).await.unwrap();
    }
}

/// The third step fails. A reset to the first one repeats the approvals, each when it is asked for.
async fn later_signals_wait_for_their_waits(store: Store) {
    let shop = Workshop::default();
    shop.break_input("third", "no");
    let node = Node::start(&store, &shop, orchestrations().register("Approval", approval)).await;
    node.start_instance("i", "Approval", "").await;
    // Too early, and lost: it must not be delivered in place of the others.
    node.client.raise_event("i", "approve", "early").await.unwrap();
    node.until_event("i", "ExternalEvent").await;
    shop.release();
    approved(&node, "i").await;
    node.failure("i").await;
    shop.repair();
    let plan = node.client.plan_reset("i", MendPoint::First, &options()).await.unwrap();
    let held: Vec<_> = plan.reapplied.iter().map(|it| (it.name.as_deref(), it.is_held)).collect();
    assert_eq!(held, [(Some("approve"), true), (Some("approve"), true)]);
    let done = node.client.reset_instance("i", MendPoint::First, &options()).await.unwrap();
    assert_eq!(plan, done_like(&plan, done));
    assert_eq!(node.output("i").await, "first! yes second! also third!");
    assert_eq!([shop.runs("first"), shop.runs("second"), shop.runs("third")], [2, 2, 2]);
    // The new history replays, too.
    let checker =
        duroxide::check::Checker::new(orchestrations().register("Approval", approval).build());
    checker.with_finished(true).check_store(store.as_ref()).await.unwrap().assert_compatible();
    node.stop().await;
}

/// The plan of the act, with the times of the dry run.
fn done_like(
    planned: &duroxide::client::MendPlan,
    done: duroxide::client::MendPlan,
) -> duroxide::client::MendPlan {
    assert_eq!(planned.to_string(), done.to_string());
    planned.clone()
}

async fn later_signals_are_dropped_if_asked(store: Store) {
    let shop = Workshop::default();
    shop.release();
    let node = Node::start(&store, &shop, orchestrations().register("Approval", approval)).await;
    node.start_instance("i", "Approval", "").await;
    approved(&node, "i").await;
    node.output("i").await;
    let dropping = options().with_messages(LaterMessages::Drop);
    let plan = node.client.reset_instance("i", MendPoint::First, &dropping).await.unwrap();
    assert_eq!(plan.reapplied, []);
    for (number, data) in [(1, "no"), (2, "never")] {
        node.until("i", |history| count(history, "ExternalSubscribed") == number).await;
        node.client.raise_event("i", "approve", data).await.unwrap();
    }
    assert_eq!(node.output("i").await, "first! no second! never third!");
    node.stop().await;
}

/// The kept events have the wait: its signal arrives like any other message.
async fn a_signal_to_an_open_wait_arrives_at_once(store: Store) {
    let shop = Workshop::default();
    shop.release();
    let node = Node::start(&store, &shop, orchestrations().register("Approval", approval)).await;
    node.start_instance("i", "Approval", "").await;
    approved(&node, "i").await;
    node.output("i").await;
    let wait = event_of(&node.history("i").await, "ExternalSubscribed").unwrap().event_id;
    let plan = node.client.reset_instance("i", MendPoint::Event(wait), &options()).await.unwrap();
    let held: Vec<bool> = plan.reapplied.iter().map(|it| it.is_held).collect();
    assert_eq!(held, [false, true], "{plan}");
    assert_eq!(node.output("i").await, "first! yes second! also third!");
    assert_eq!([shop.runs("first"), shop.runs("second"), shop.runs("third")], [1, 2, 2]);
    node.stop().await;
}

/// Held signals belong to the history: they are there after another reset, each once.
async fn held_signals_survive_a_second_reset(store: Store) {
    let shop = Workshop::default();
    shop.release();
    let node = Node::start(&store, &shop, orchestrations().register("Approval", approval)).await;
    node.start_instance("i", "Approval", "").await;
    approved(&node, "i").await;
    node.output("i").await;
    for _ in 0..2 {
        node.client.reset_instance("i", MendPoint::First, &options()).await.unwrap();
        assert_eq!(node.output("i").await, "first! yes second! also third!");
    }
    // Between the two deliveries: one is kept, the other one is still held.
    let history = node.history("i").await;
    let is_approval = |event: &&Event| {
        let EventKind::ExternalEvent { name, .. } = &event.kind else { return false };
        name == "approve"
    };
    let first = history.iter().find(is_approval).unwrap().event_id;
    let plan = node.client.reset_instance("i", MendPoint::Event(first), &options()).await.unwrap();
    assert_eq!(plan.reapplied.len(), 1, "{plan}");
    assert_eq!(node.output("i").await, "first! yes second! also third!");
    assert_eq!(shop.runs("first"), 3);
    node.stop().await;
}

async fn later_queue_messages_arrive_again(store: Store) {
    let shop = Workshop::default();
    shop.break_input("y2", "no");
    let node = Node::start(&store, &shop, orchestrations().register("Reading", reading)).await;
    node.start_instance("i", "Reading", "").await;
    for number in ["1", "2", "3"] {
        node.client.enqueue_event("i", "orders", number).await.unwrap();
    }
    node.failure("i").await;
    shop.repair();
    let plan = node.client.reset_instance("i", MendPoint::First, &options()).await.unwrap();
    assert!(plan.reapplied.iter().all(|it| it.name.as_deref() == Some("orders")), "{plan}");
    assert_eq!(node.output("i").await, "x1! y2! z3!");
    node.stop().await;
}

/// Timers, signals and results that came later arrive in the order in which they came before.
async fn later_messages_keep_their_order(store: Store) {
    let shop = Workshop::default();
    let code =
        orchestrations().register("Both", |ctx: OrchestrationContext, early: String| async move {
            let pause = Duration::from_millis(if early == "timer" { 5 } else { 300 });
            let timer = ctx.schedule_timer(pause);
            let signal = ctx.schedule_wait("go");
            let result = ctx.schedule_activity("hold", "held");
            let ((), signal, result) = ctx.join3(timer, signal, result).await;
            Ok(format!("{signal} {}", result?))
        });
    let node = Node::start(&store, &shop, code).await;
    let arrived = |history: &[Event]| -> Vec<&'static str> {
        let recorded = history.iter().filter(|event| MendMarker::of(event).is_none());
        let kinds = recorded.map(|event| event.kind.type_tag());
        kinds.filter(|kind| ARRIVALS.contains(kind)).collect()
    };
    let instances: Vec<(String, &str)> =
        (0..8).map(|n| (format!("i{n}"), ["timer", "signal"][n % 2])).collect();
    for (instance, early) in &instances {
        node.start_instance(instance, "Both", early).await;
        match *early {
            "timer" => node.until_event(instance, "TimerFired").await,
            _ => node.until_event(instance, "ExternalSubscribed").await,
        }
        node.client.raise_event(instance, "go", *early).await.unwrap();
    }
    shop.release();
    for (instance, early) in &instances {
        assert_eq!(node.output(instance).await, format!("{early} held!"));
        let before = arrived(&node.history(instance).await);
        let all = MendPoint::Event(4);
        let plan = node.client.reset_instance(instance, all, &options()).await.unwrap();
        assert_eq!((plan.reapplied.len(), plan.run_again.len()), (3, 0), "{plan}");
        assert_eq!(node.output(instance).await, format!("{early} held!"));
        assert_eq!(arrived(&node.history(instance).await), before, "{instance}");
    }
    node.stop().await;
}

const ARRIVALS: [&str; 3] = ["TimerFired", "ExternalEvent", "ActivityCompleted"];

/// A timer that has fired fires again after the reset, and one that is not due keeps its time.
async fn timers_keep_their_times(store: Store) {
    let shop = Workshop::default();
    shop.break_input("after", "no");
    let code =
        orchestrations().register("Race", |ctx: OrchestrationContext, _: String| async move {
            let long = ctx.schedule_timer(Duration::from_secs(3600));
            let short = ctx.schedule_timer(Duration::from_millis(20));
            let winner = match ctx.select2(short, ctx.schedule_wait("too late")).await {
                duroxide::Either2::First(()) => "timer".to_owned(),
                duroxide::Either2::Second(data) => data,
            };
            ctx.schedule_activity("work", "after").await?;
            drop(long);
            Ok(winner)
        });
    let node = Node::start(&store, &shop, code).await;
    node.start_instance("i", "Race", "").await;
    node.until_event("i", "ActivityScheduled").await;
    node.failure("i").await;
    shop.repair();
    let history = node.history("i").await;
    let timer = event_of(&history, "TimerCreated").unwrap();
    let EventKind::TimerCreated { fire_at_ms } = timer.kind else { unreachable!() };
    let wait = event_of(&history, "ExternalSubscribed").unwrap().event_id;
    let plan = node.client.reset_instance("i", MendPoint::Event(wait), &options()).await.unwrap();
    let timers: Vec<_> = plan.timers.iter().map(|it| (it.event_id, it.fire_at_ms)).collect();
    assert_eq!(timers, [(timer.event_id, fire_at_ms)], "{plan}");
    assert_eq!(node.output("i").await, "timer");
    node.stop().await;
}

async fn later_results_arrive_or_run_again(store: Store) {
    let shop = Workshop::default();
    let code =
        orchestrations().register("Pair", |ctx: OrchestrationContext, _: String| async move {
            let one = ctx.schedule_activity("work", "one");
            let two = ctx.schedule_activity("work", "two");
            Ok(format!("{} {}", one.await?, two.await?))
        });
    let node = Node::start(&store, &shop, code).await;
    node.start_instance("i", "Pair", "").await;
    assert_eq!(node.output("i").await, "one! two!");
    let scheduled = MendPoint::Event(3);
    let plan = node.client.reset_instance("i", scheduled, &options()).await.unwrap();
    assert_eq!((plan.reapplied.len(), plan.run_again.len()), (2, 0), "{plan}");
    assert_eq!(node.output("i").await, "one! two!");
    assert_eq!([shop.runs("one"), shop.runs("two")], [1, 1]);
    let again = options().with_results(LaterResults::RunAgain);
    let plan = node.client.reset_instance("i", scheduled, &again).await.unwrap();
    assert_eq!((plan.reapplied.len(), plan.run_again.len()), (0, 2), "{plan}");
    assert_eq!(node.output("i").await, "one! two!");
    assert_eq!([shop.runs("one"), shop.runs("two")], [2, 2]);
    node.stop().await;
}

/// Messages that continue-as-new carries are part of the start, whatever happens to later ones.
async fn carried_messages_are_never_lost(store: Store) {
    let shop = Workshop::default();
    let code =
        orchestrations().register("Batch", |ctx: OrchestrationContext, run: String| async move {
            if run == "1" {
                ctx.schedule_wait("go").await;
                return ctx.continue_as_new("2").await;
            }
            let first = ctx.dequeue_event("orders").await;
            let second = ctx.dequeue_event("orders").await;
            ctx.schedule_activity("work", format!("{first}{second}")).await
        });
    let node = Node::start(&store, &shop, code).await;
    node.start_instance("i", "Batch", "1").await;
    for number in ["1", "2"] {
        node.client.enqueue_event("i", "orders", number).await.unwrap();
    }
    node.until("i", |history| count(history, "ExternalEventPersistent") == 2).await;
    node.client.raise_event("i", "go", "").await.unwrap();
    assert_eq!(node.output("i").await, "12!");
    let dropping = options().with_messages(LaterMessages::Drop);
    let plan = node.client.reset_instance("i", MendPoint::First, &dropping).await.unwrap();
    assert_eq!((plan.new_execution_id, plan.events_kept), (3, 3), "{plan}");
    assert_eq!(node.output("i").await, "12!");
    node.stop().await;
}
