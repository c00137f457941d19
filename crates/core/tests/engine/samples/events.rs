//! Signals and queues.

use std::time::Duration;

use duroxide_core::Either2;

const SECOND: Duration = Duration::from_secs(1);

super::samples! {
    wait(ctx, _input) { Ok(ctx.schedule_wait("go").await) }
    wait_other(ctx, _input) { Ok(ctx.schedule_wait("stop").await) }
    wait_typed(ctx, _input) {
        let number: u64 = ctx.schedule_wait_typed("go").await;
        Ok(number.to_string())
    }
    wait_twice(ctx, _input) {
        let (a, b) = ctx.join2(ctx.schedule_wait("go"), ctx.schedule_wait("go")).await;
        Ok(format!("{a},{b}"))
    }
    wait_after_activity(ctx, _input) {
        let _result = ctx.schedule_activity("A", "1").await;
        Ok(ctx.schedule_wait("go").await)
    }
    wait_with_timeout_then_wait(ctx, _input) {
        let timer = ctx.schedule_timer(SECOND);
        let first = match ctx.select2(ctx.schedule_wait("go"), timer).await {
            Either2::First(data) => data,
            Either2::Second(()) => "none".to_owned(),
        };
        Ok(format!("{first},{}", ctx.schedule_wait("go").await))
    }
    drops_wait_after_signal(ctx, _input) {
        let (first, second) = (ctx.schedule_wait("go"), ctx.schedule_wait("go"));
        ctx.schedule_timer(SECOND).await;
        drop(first);
        Ok(second.await)
    }
    drops_wait_before_it_is_recorded(ctx, _input) {
        drop(ctx.schedule_wait("go"));
        Ok(ctx.schedule_wait("go").await)
    }
    forgets_subscriptions(ctx, _input) {
        std::mem::forget(ctx.schedule_wait("go"));
        std::mem::forget(ctx.dequeue_event("q"));
        ctx.schedule_activity("A", "1").await
    }
    drops_all_kinds(ctx, _input) {
        let waits = (ctx.dequeue_event("q"), ctx.schedule_wait("go"));
        let calls = (ctx.schedule_sub_orchestration("Child", "c"), ctx.schedule_activity("A", "1"));
        let timer = ctx.schedule_timer(SECOND);
        ctx.schedule_activity("B", "2").await?;
        drop((waits, calls, timer));
        ctx.schedule_activity("C", "3").await
    }
    drops_none_of_them(ctx, _input) {
        let waits = (ctx.dequeue_event("q"), ctx.schedule_wait("go"));
        let calls = (ctx.schedule_sub_orchestration("Child", "c"), ctx.schedule_activity("A", "1"));
        let timer = ctx.schedule_timer(SECOND);
        ctx.schedule_activity("B", "2").await?;
        let after = ctx.schedule_activity("C", "3").await;
        drop((waits, calls, timer));
        after
    }

    dequeue(ctx, _input) { Ok(ctx.dequeue_event("q").await) }
    dequeue_other(ctx, _input) { Ok(ctx.dequeue_event("other").await) }
    dequeue_typed(ctx, _input) {
        let number: u64 = ctx.dequeue_event_typed("q").await;
        Ok(number.to_string())
    }
    dequeue_after_activity(ctx, _input) {
        let _result = ctx.schedule_activity("A", "1").await;
        Ok(ctx.dequeue_event("q").await)
    }
    drain(ctx, input) {
        let count: usize = input.parse().map_err(|_| "a number".to_owned())?;
        for _message in 0..count {
            ctx.dequeue_event("q").await;
        }
        Ok(format!("drained {count}"))
    }
    drain_again(ctx, _input) {
        let mut all = Vec::new();
        while all.len() < 3 {
            all.push(ctx.dequeue_event("q").await);
        }
        Ok(all.join(","))
    }
    dequeue_joined(ctx, _input) {
        let all = vec![ctx.dequeue_event("q"), ctx.dequeue_event("q"), ctx.dequeue_event("r")];
        Ok(ctx.join(all).await.join(","))
    }
    holds_first_dequeue(ctx, _input) {
        let (first, second) = (ctx.dequeue_event("q"), ctx.dequeue_event("q"));
        let newer = second.await;
        Ok(format!("{newer} before {}", first.await))
    }
    drops_older_dequeue(ctx, _input) {
        let (first, second) = (ctx.dequeue_event("q"), ctx.dequeue_event("q"));
        let newer = second.await;
        drop(first);
        Ok(format!("{newer},{}", ctx.dequeue_event("q").await))
    }
    dequeue_with_timeout_then_dequeue(ctx, _input) {
        let timer = ctx.schedule_timer(SECOND);
        let first = match ctx.select2(ctx.dequeue_event("q"), timer).await {
            Either2::First(data) => data,
            Either2::Second(()) => "none".to_owned(),
        };
        Ok(format!("{first},{}", ctx.dequeue_event("q").await))
    }
    drops_dequeue_before_it_is_recorded(ctx, _input) {
        drop(ctx.dequeue_event("q"));
        Ok(ctx.dequeue_event("q").await)
    }
    same_name(ctx, _input) {
        let (signal, message) = ctx.join2(ctx.schedule_wait("n"), ctx.dequeue_event("n")).await;
        Ok(format!("signal {signal}, message {message}"))
    }

    read_one_then_continue(ctx, _input) {
        let first = ctx.dequeue_event("q").await;
        ctx.schedule_timer(SECOND).await;
        ctx.continue_as_new(first).await
    }
    continue_with_open_dequeues(ctx, _input) {
        std::mem::forget(ctx.dequeue_event("q"));
        let second = ctx.dequeue_event("r");
        ctx.schedule_timer(SECOND).await;
        drop(second);
        ctx.continue_as_new("again").await
    }
    drop_dequeue_and_continue(ctx, _input) {
        let held = ctx.dequeue_event("q");
        ctx.schedule_timer(SECOND).await;
        drop(held);
        ctx.continue_as_new("again").await
    }
    wait_in_every_execution(ctx, input) {
        if input == "again" {
            return Ok(ctx.schedule_wait("go").await);
        }
        let (_data, ()) = ctx.join2(ctx.schedule_wait("go"), ctx.schedule_timer(SECOND)).await;
        ctx.continue_as_new("again").await
    }
}
