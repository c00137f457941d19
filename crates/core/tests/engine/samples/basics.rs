//! Activities, timers, results and combinations of them.

use std::time::Duration;

use duroxide_core::{BackoffStrategy, Either2, Either3, RetryPolicy};

const SECOND: Duration = Duration::from_secs(1);

fn fixed(attempts: u32, delay: Duration) -> RetryPolicy {
    RetryPolicy::new(attempts).with_backoff(BackoffStrategy::Fixed { delay })
}

super::samples! {
    returns(_ctx, input) { Ok(input) }
    fails(_ctx, input) { Err(input) }
    panics(_ctx, _input) { panic!("kaboom") }
    panics_with_string(_ctx, _input) { panic!("{}", String::from("kaboom")) }
    panics_with_number(_ctx, _input) { std::panic::panic_any(7_u8) }
    panics_after_scheduling(ctx, _input) {
        let _held = ctx.schedule_activity("A", "1");
        panic!("kaboom")
    }
    panics_after_activity(ctx, _input) {
        let _result = ctx.schedule_activity("A", "1").await;
        let _held = ctx.schedule_activity("B", "2");
        panic!("kaboom")
    }

    schedules_nothing(_ctx, _input) { std::future::pending().await }
    activity(ctx, input) { ctx.schedule_activity("A", input).await }
    other_activity(ctx, input) { ctx.schedule_activity("B", input).await }
    other_input(ctx, _input) { ctx.schedule_activity("A", "other").await }
    json_input(ctx, _input) { ctx.schedule_activity("A", r#"{"a":[1,2],"b":1}"#).await }
    session(ctx, input) { ctx.schedule_activity_on_session("A", input, "s").await }
    tagged(ctx, input) { ctx.schedule_activity("A", input).with_tag("gpu").await }
    tagged_too_late(ctx, _input) {
        let activity = ctx.schedule_activity("A", "1");
        ctx.schedule_timer(SECOND).await;
        activity.with_tag("gpu").await
    }
    activity_then_fails(ctx, _input) { Err(ctx.schedule_activity("A", "1").await?) }
    recovers(ctx, _input) {
        match ctx.schedule_activity("A", "1").await {
            Ok(result) => Ok(result),
            Err(error) => Ok(format!("caught {error}")),
        }
    }
    typed_activity(ctx, _input) {
        let sum: Result<u64, String> = ctx.schedule_activity_typed("Sum", &vec![1, 2]).await;
        sum.map(|sum| (sum + 1).to_string())
    }
    same_twice(ctx, _input) {
        let (a, b) = (ctx.schedule_activity("A", "x"), ctx.schedule_activity("A", "x"));
        let (a, b) = ctx.join2(a, b).await;
        Ok(format!("{},{}", a?, b?))
    }
    then_another(ctx, _input) {
        let first = ctx.schedule_activity("A", "1").await?;
        ctx.schedule_activity("B", first).await
    }
    then_two_more(ctx, _input) {
        let first = ctx.schedule_activity("A", "1").await?;
        let (b, c) = (ctx.schedule_activity("B", first.clone()), ctx.schedule_activity("C", first));
        let (b, c) = ctx.join2(b, c).await;
        Ok(b? + &c?)
    }
    holds_activity(ctx, _input) {
        let held = ctx.schedule_activity("A", "1");
        ctx.schedule_timer(SECOND).await;
        held.await
    }
    drops_activity_at_once(ctx, _input) {
        drop(ctx.schedule_activity("A", "1"));
        ctx.schedule_activity("B", "2").await
    }
    drops_activity_and_returns(ctx, _input) {
        drop(ctx.schedule_activity("A", "1"));
        Ok("over".to_owned())
    }
    forgets_activity_and_returns(ctx, input) {
        std::mem::forget(ctx.schedule_activity("A", "1"));
        ctx.schedule_timer(SECOND).await;
        if input == "fail" { Err("over".to_owned()) } else { Ok("over".to_owned()) }
    }
    starts_all_kinds(ctx, _input) {
        let activity = ctx.schedule_activity("A", "1");
        let timer = ctx.schedule_timer(SECOND);
        let child = ctx.schedule_sub_orchestration("Child", "c");
        ctx.schedule_orchestration("Other", "other-1", "d");
        let (result, (), child) = ctx.join3(activity, timer, child).await;
        Ok(format!("{},{}", result?, child?))
    }
    returns_with_everything_open(ctx, input) {
        std::mem::forget(ctx.schedule_activity("A", "1"));
        std::mem::forget(ctx.schedule_timer(SECOND));
        std::mem::forget(ctx.schedule_sub_orchestration("Child", "c"));
        ctx.schedule_orchestration("Other", "other-1", "d");
        if input == "fail" { Err("bad".to_owned()) } else { Ok("over".to_owned()) }
    }

    timer(ctx, _input) { ctx.schedule_timer(SECOND).await; Ok("fired".to_owned()) }
    longer_timer(ctx, _input) { ctx.schedule_timer(SECOND * 9).await; Ok("fired".to_owned()) }
    zero_timer(ctx, _input) { ctx.schedule_timer(Duration::ZERO).await; Ok("fired".to_owned()) }
    endless_timer(ctx, _input) { ctx.schedule_timer(Duration::MAX).await; Ok(String::new()) }
    timer_then_timer(ctx, _input) {
        let slow = ctx.schedule_timer(SECOND * 5);
        ctx.schedule_timer(SECOND).await;
        ctx.schedule_timer(SECOND).await;
        slow.await;
        Ok("all".to_owned())
    }

    retry(ctx, _input) { ctx.schedule_activity_with_retry("A", "1", fixed(3, SECOND)).await }
    retry_at_once(ctx, _input) {
        let policy = RetryPolicy::new(2).with_backoff(BackoffStrategy::None);
        ctx.schedule_activity_with_retry("A", "1", policy).await
    }
    retry_longer(ctx, _input) {
        let backoff = BackoffStrategy::Linear { base: SECOND, max: SECOND * 2 };
        let policy = RetryPolicy::new(4).with_backoff(backoff);
        ctx.schedule_activity_with_retry("A", "1", policy).await
    }
    retry_doubling(ctx, _input) {
        let max = SECOND * 3;
        let backoff = BackoffStrategy::Exponential { base: SECOND, multiplier: 2.0, max };
        let policy = RetryPolicy::new(4).with_backoff(backoff);
        ctx.schedule_activity_with_retry("A", "1", policy).await
    }
    retry_with_timeout(ctx, _input) {
        let policy = fixed(3, SECOND).with_timeout(SECOND * 5);
        ctx.schedule_activity_with_retry("A", "1", policy).await
    }
    retry_on_session(ctx, _input) {
        ctx.schedule_activity_with_retry_on_session("A", "1", fixed(2, SECOND), "s").await
    }

    race(ctx, _input) {
        let (a, b) = (ctx.schedule_activity("A", "1"), ctx.schedule_activity("B", "2"));
        match ctx.select2(a, b).await {
            Either2::First(a) => Ok(format!("A {}", a?)),
            Either2::Second(b) => Ok(format!("B {}", b?)),
        }
    }
    race_then_waits(ctx, _input) {
        let timer = ctx.schedule_timer(SECOND);
        let winner = ctx.select2(ctx.schedule_activity("A", "1"), timer).await.index();
        ctx.schedule_activity("After", winner.to_string()).await
    }
    race_by_reference_then_waits(ctx, _input) {
        let timer = ctx.schedule_timer(SECOND);
        let mut activity = ctx.schedule_activity("A", "1");
        let winner = ctx.select2(&mut activity, timer).await.index();
        let _after = ctx.schedule_activity("After", winner.to_string()).await;
        activity.await
    }
    race_of_three(ctx, _input) {
        let a = ctx.schedule_activity("A", "1");
        let b = ctx.schedule_activity("B", "2");
        let c = ctx.schedule_timer(SECOND);
        match ctx.select3(a, b, c).await {
            Either3::First(a) => Ok(format!("A {}", a?)),
            Either3::Second(b) => Ok(format!("B {}", b?)),
            Either3::Third(()) => Ok("timer".to_owned()),
        }
    }
    race_by_reference(ctx, _input) {
        let mut activity = ctx.schedule_activity("A", "1");
        let winner = ctx.select2(&mut activity, ctx.schedule_timer(SECOND)).await.index();
        Ok(format!("{winner} {}", activity.await?))
    }
    both_ready(ctx, _input) {
        let (a, b) = (ctx.schedule_activity("A", "1"), ctx.schedule_activity("B", "2"));
        ctx.schedule_timer(SECOND).await;
        Ok(ctx.select2(a, b).await.index().to_string())
    }
    join_many(ctx, input) {
        let count: usize = input.parse().map_err(|_| "a number".to_owned())?;
        let calls = (0..count).map(|n| ctx.schedule_activity("A", n.to_string())).collect();
        let results: Result<Vec<String>, String> = ctx.join(calls).await.into_iter().collect();
        Ok(format!("[{}]", results?.join(",")))
    }
    join_blocks(ctx, _input) {
        let one = async {
            let result = ctx.schedule_activity("A", "1").await?;
            ctx.schedule_activity("B", result).await
        };
        let two = async { ctx.schedule_timer(SECOND).await; Ok::<_, String>("t".to_owned()) };
        let (one, two) = ctx.join2(one, two).await;
        Ok(format!("{},{}", one?, two?))
    }
    mapped(ctx, _input) {
        ctx.schedule_activity("A", "1").map(|result| result.map(|text| text + "!")).await
    }
}
