//! Code in the typed form replays histories that code in the form of strings has recorded: names,
//! inputs, results and errors are stored alike.

use std::time::{Duration, UNIX_EPOCH};

use duroxide::check::Checker;
use duroxide::prelude::*;

use crate::support::histories_of;

const SHORT: Duration = Duration::from_millis(20);
const GO: Signal<String> = Signal::new("go");
const STOP: Signal<String> = Signal::new("stop");
const NEVER: Signal<String> = Signal::new("never");
const INBOX: Queue<String> = Queue::new("inbox");
const OTHER: Queue<String> = Queue::new("other");

type Outcome = Result<String, String>;

// No test runs them: a replay takes their results from the history.
#[activity(elsewhere)]
async fn echo(_ctx: ActivityContext, text: String) -> Outcome {
    Ok(text)
}

#[activity(elsewhere)]
async fn fail(_ctx: ActivityContext, text: String) -> Outcome {
    Err(text)
}

#[activity(elsewhere, name = "fail", retry(attempts = 2, fixed = "5ms"))]
async fn fail_twice(_ctx: ActivityContext, text: String) -> Outcome {
    Err(text)
}

#[activity(elsewhere)]
async fn double(_ctx: ActivityContext, number: u64) -> Result<u64, String> {
    Ok(number * 2)
}

#[activity(elsewhere)]
async fn slow(_ctx: ActivityContext, text: String) -> Outcome {
    Ok(text)
}

#[activity(elsewhere, name = "echo", tag = "gpu")]
async fn echo_on_gpu(_ctx: ActivityContext, text: String) -> Outcome {
    Ok(text)
}

#[orchestration]
async fn basics(ctx: OrchestrationContext, input: String) -> Outcome {
    let text = ctx.call(echo, input).await?;
    let failure = ctx.call(fail, "always").await.unwrap_err();
    let retried = ctx.call(fail_twice, "twice").await;
    let retried = matches!(retried, Err(CallError::Exhausted { attempts: 2, .. }));
    ctx.schedule_timer(SHORT).await;
    let guid = ctx.new_guid().await?;
    let recorded = ctx.utc_now().await? > UNIX_EPOCH;
    let (a, b) = ctx.join2(ctx.call(echo, "a"), ctx.call(echo, "b")).await;
    let (a, b) = (a.map_err(String::from), b.map_err(String::from));
    let doubled = ctx.call(double, 21).await?;
    let all = (0..5).map(|n| ctx.call(echo, n.to_string())).collect();
    let all: Result<Vec<_>, _> = ctx.join(all).await.into_iter().collect();
    Ok(format!("{text} {failure} {retried} {guid} {recorded} {a:?} {b:?} {doubled} {:?}", all?))
}

#[orchestration]
async fn routes(ctx: OrchestrationContext, input: String) -> Outcome {
    let session = ctx.call(echo, &input).with_session("desk").await?;
    let tagged = ctx.call(echo, &input).with_tag("gpu").await?;
    let both = ctx.call(echo_on_gpu, input).with_session("desk").await?;
    Ok(format!("{session} {tagged} {both}"))
}

#[orchestration]
async fn signals(ctx: OrchestrationContext, _input: String) -> Outcome {
    let lost = ctx.select2(ctx.wait(GO), ctx.schedule_timer(SHORT)).await;
    if let Either2::First(_) = lost {
        return Err("too early".to_owned());
    }
    ctx.set_custom_status("waiting");
    let first = ctx.wait(GO).await?;
    ctx.set_custom_status("again");
    let (second, third) = ctx.join2(ctx.wait(GO), ctx.wait(STOP)).await;
    ctx.reset_custom_status();
    Ok(format!("{first} {} {}", second?, third?))
}

#[orchestration]
async fn queues(ctx: OrchestrationContext, _input: String) -> Outcome {
    let empty = ctx.select2(ctx.receive(INBOX), ctx.schedule_timer(SHORT)).await;
    let timed_out = matches!(empty, Either2::Second(()));
    ctx.set_custom_status("waiting");
    let first = ctx.receive(INBOX).await?;
    let race = ctx.select2(ctx.receive(INBOX), ctx.receive(OTHER)).await;
    let second = match race {
        Either2::First(text) | Either2::Second(text) => text?,
    };
    let third = ctx.receive(INBOX).await?;
    Ok(format!("{timed_out} {first} {second} {third}"))
}

#[orchestration]
async fn leaf(_ctx: OrchestrationContext, input: String) -> Outcome {
    match input.as_str() {
        "fail" => Err("as asked".to_owned()),
        _ => Ok(format!("leaf of {input}")),
    }
}

#[orchestration(name = "leaf", version = "2.0.0")]
async fn leaf_of_version_two(ctx: OrchestrationContext, input: String) -> Outcome {
    Ok(ctx.call(echo, format!("two: {input}")).await?)
}

#[orchestration]
async fn patient(ctx: OrchestrationContext, input: String) -> Outcome {
    ctx.set_kv_value("input", input.as_str());
    let text = ctx.call(echo, input).await?;
    ctx.schedule_timer(SHORT).await;
    let slow = ctx.call(slow, text);
    let message = ctx.receive(INBOX);
    let signal = ctx.wait(NEVER);
    ctx.set_custom_status("waiting");
    match ctx.select3(slow, message, signal).await {
        Either3::First(result) => Ok(result?),
        Either3::Second(text) | Either3::Third(text) => Ok(text?),
    }
}

#[orchestration]
async fn children(ctx: OrchestrationContext, input: String) -> Outcome {
    let first = ctx.child(leaf, &input).await?;
    let failed = ctx.child(leaf, "fail").await.unwrap_err();
    let latest = ctx.child(leaf, &input).await?;
    let named = format!("{}-named", ctx.instance_id());
    let named = ctx.child_with_id(leaf, named, &input).await?;
    let dropped = ctx.child(patient, "child");
    let race = ctx.select2(dropped, ctx.schedule_timer(SHORT)).await;
    let dropped = matches!(race, Either2::Second(()));
    let all = (0..3).map(|n| ctx.child(leaf, n.to_string())).collect();
    let all: Result<Vec<_>, _> = ctx.join(all).await.into_iter().collect();
    ctx.schedule_orchestration("leaf", format!("{}-detached", ctx.instance_id()), input);
    Ok(format!("{first} {failed} {latest} {named} {dropped} {:?}", all?))
}

#[orchestration]
async fn fails(ctx: OrchestrationContext, input: String) -> Outcome {
    ctx.call(fail, input).await?;
    Ok("unreachable".to_owned())
}

#[test]
fn typed_code_agrees_with_recorded_histories_of_untyped_code() {
    let orchestrations = OrchestrationRegistry::builder()
        .register_fn(basics)
        .register_fn(routes)
        .register_fn(signals)
        .register_fn(queues)
        .register_fn(leaf)
        .register_fn(leaf_of_version_two)
        .register_fn(patient)
        .register_fn(children)
        .register_fn(fails)
        .build();
    let names = orchestrations.list_names();
    let checker = Checker::new(orchestrations).with_finished(true);
    for version in ["0.1.32", "0.2.0"] {
        let mut checked = std::collections::BTreeSet::new();
        for history in histories_of(version) {
            let start = history.events.first().map(|event| event.kind.clone());
            let Some(duroxide::EventKind::OrchestrationStarted { name, .. }) = start else {
                panic!("{version} has a history without a start")
            };
            if names.contains(&name) {
                let report = checker.check_history(history);
                assert!(report.verdict.is_fine(), "{version}: {report}");
                checked.insert(name);
            }
        }
        assert_eq!(checked.len(), names.len(), "{version} has only {checked:?}");
    }
}
