//! The code of the workflows and of their activities.

use std::time::Duration;

use duroxide::runtime::registry::ActivityRegistry;
use duroxide::{
    ActivityContext, Either2, OrchestrationContext, OrchestrationRegistry, RetryPolicy,
};

use crate::effects::Effects;
use crate::kinds::{MESSAGES, ROUNDS, STEPS, WIDTH, done, large};
use crate::node::WORK_LEASE;

/// An activity that is not cancelled completes by itself after this time.
const PATIENT_MAX: Duration = Duration::from_secs(60);

/// The activities. Those with an effect record it before they return.
pub(crate) fn activities(effects: &Effects) -> ActivityRegistry {
    let (step, slow) = (effects.clone(), effects.clone());
    ActivityRegistry::builder()
        .register("Step", move |ctx: ActivityContext, input: String| {
            let effects = step.clone();
            async move {
                tokio::time::sleep(Duration::from_millis(5)).await;
                effects.record(&ctx, &input)?;
                Ok(done(&input))
            }
        })
        .register("Slow", move |ctx: ActivityContext, input: String| {
            let effects = slow.clone();
            async move {
                tokio::time::sleep(WORK_LEASE * 3 / 2).await;
                effects.record(&ctx, &input)?;
                Ok(done(&input))
            }
        })
        .register("Patient", |ctx: ActivityContext, _input: String| async move {
            match tokio::time::timeout(PATIENT_MAX, ctx.cancelled()).await {
                Ok(()) => Err("cancelled".to_owned()),
                Err(_elapsed) => Ok("not cancelled".to_owned()),
            }
        })
        .register("Fail", |_ctx: ActivityContext, input: String| async move {
            Err::<String, _>(format!("no: {input}"))
        })
        .build()
}

/// The orchestrations.
pub(crate) fn orchestrations() -> OrchestrationRegistry {
    OrchestrationRegistry::builder()
        .register("Chain", chain)
        .register("Fan", fan)
        .register("Timer", timer)
        .register("Family", family)
        .register("Events", events)
        .register("Session", session)
        .register("Race", race)
        .register("Leaves", leaves)
        .register("Moves", moves)
        .register("Cancelled", cancelled)
        .register("Again", again)
        .register("Slow", slow)
        .register("Fails", fails)
        .register("Orphan", orphan)
        .register("Waits", waits)
        .register("Large", many_pages)
        .build()
}

type Output = Result<String, String>;

async fn chain(ctx: OrchestrationContext, _: String) -> Output {
    let mut all = Vec::new();
    for step in 0..STEPS {
        all.push(ctx.schedule_activity("Step", step.to_string()).await?);
    }
    Ok(all.join(" "))
}

async fn fan(ctx: OrchestrationContext, _: String) -> Output {
    let steps = (0..WIDTH).map(|step| ctx.schedule_activity("Step", step.to_string()));
    let all: Result<Vec<String>, String> = ctx.join(steps.collect()).await.into_iter().collect();
    Ok(all?.join(" "))
}

async fn timer(ctx: OrchestrationContext, _: String) -> Output {
    let before = ctx.schedule_activity("Step", "before").await?;
    ctx.schedule_timer(Duration::from_millis(150)).await;
    let after = ctx.schedule_activity("Step", "after").await?;
    Ok(format!("{before} {after}"))
}

async fn family(ctx: OrchestrationContext, _: String) -> Output {
    let first = ctx.schedule_sub_orchestration("Chain", "");
    let second = ctx.schedule_sub_orchestration("Fan", "");
    let (first, _second) = ctx.join2(first, second).await;
    let third = ctx.schedule_sub_orchestration("Chain", "").await?;
    Ok(format!("{} {third}", first?))
}

async fn events(ctx: OrchestrationContext, _: String) -> Output {
    let go = ctx.schedule_wait("Go").await;
    let mut all = vec![ctx.schedule_activity("Step", go).await?];
    for _message in 0..MESSAGES {
        let message = ctx.dequeue_event("inbox").await;
        all.push(ctx.schedule_activity("Step", message).await?);
    }
    Ok(all.join(" "))
}

async fn session(ctx: OrchestrationContext, session: String) -> Output {
    let mut all = Vec::new();
    for step in 0..3 {
        let call = ctx.schedule_activity_on_session("Step", step.to_string(), session.as_str());
        all.push(call.await?);
    }
    Ok(all.join(" "))
}

async fn race(ctx: OrchestrationContext, _: String) -> Output {
    let patient = ctx.schedule_activity("Patient", "");
    let winner = match ctx.select2(patient, ctx.schedule_timer(Duration::from_millis(200))).await {
        Either2::First(_) => "activity",
        Either2::Second(()) => "timer",
    };
    let step = ctx.schedule_activity("Step", "0").await?;
    Ok(format!("{winner} {step}"))
}

async fn leaves(ctx: OrchestrationContext, _: String) -> Output {
    let _running = ctx.schedule_activity("Patient", "");
    ctx.schedule_activity("Step", "0").await
}

async fn moves(ctx: OrchestrationContext, round: String) -> Output {
    let round: u32 = round.parse().map_err(|error| format!("{error}"))?;
    if round + 1 == ROUNDS {
        return Ok(format!("moved {round}"));
    }
    let _running = ctx.schedule_activity("Patient", "");
    ctx.schedule_activity("Step", "0").await?;
    ctx.continue_as_new((round + 1).to_string()).await
}

async fn cancelled(ctx: OrchestrationContext, _: String) -> Output {
    ctx.schedule_activity("Patient", "").await
}

async fn again(ctx: OrchestrationContext, round: String) -> Output {
    let number: u32 = round.parse().map_err(|error| format!("{error}"))?;
    ctx.schedule_activity("Step", round.as_str()).await?;
    let seen = ctx.get_kv_value("seen").unwrap_or_default();
    let seen = format!("{seen}{round};");
    ctx.set_kv_value("seen", seen.as_str());
    ctx.set_custom_status(round);
    if number + 1 == ROUNDS {
        return Ok(seen);
    }
    ctx.continue_as_new((number + 1).to_string()).await
}

async fn slow(ctx: OrchestrationContext, _: String) -> Output {
    ctx.schedule_activity("Slow", "slowly").await
}

async fn fails(ctx: OrchestrationContext, input: String) -> Output {
    let policy = RetryPolicy::new(2);
    match ctx.schedule_activity_with_retry("Fail", input, policy).await {
        Ok(_) => Err("it must fail".to_owned()),
        Err(reason) => Ok(reason),
    }
}

async fn orphan(ctx: OrchestrationContext, _: String) -> Output {
    let child = ctx.schedule_sub_orchestration("Waits", "");
    let step = ctx.schedule_activity("Step", "0").await?;
    drop(child);
    Ok(step)
}

async fn waits(ctx: OrchestrationContext, _: String) -> Output {
    Ok(ctx.schedule_wait("Never").await)
}

async fn many_pages(ctx: OrchestrationContext, number: String) -> Output {
    ctx.schedule_activity("Step", large(&number)).await
}
