//! Children, detached starts, continue-as-new and system calls.

use std::time::{Duration, UNIX_EPOCH};

const SECOND: Duration = Duration::from_secs(1);

super::samples! {
    child(ctx, input) { ctx.schedule_sub_orchestration("Child", input).await }
    other_child(ctx, input) { ctx.schedule_sub_orchestration("Other", input).await }
    child_with_id(ctx, input) {
        ctx.schedule_sub_orchestration_with_id("Child", input, "c").await
    }
    child_versioned(ctx, _input) {
        let version = Some("2.0.0".to_owned());
        ctx.schedule_sub_orchestration_versioned("Child", version, "c").await
    }
    child_typed(ctx, _input) {
        let sum: Result<u64, String> =
            ctx.schedule_sub_orchestration_typed("Child", &vec![1, 2]).await;
        sum.map(|sum| sum.to_string())
    }
    recovers_from_child(ctx, _input) {
        match ctx.schedule_sub_orchestration("Child", "c").await {
            Ok(result) => Ok(result),
            Err(error) => Ok(format!("caught {error}")),
        }
    }
    child_with_timeout(ctx, _input) {
        let child = ctx.schedule_sub_orchestration("Child", "c");
        let winner = ctx.select2(child, ctx.schedule_timer(SECOND)).await.index();
        ctx.schedule_activity("After", winner.to_string()).await
    }
    child_with_timeout_then_returns(ctx, _input) {
        let child = ctx.schedule_sub_orchestration("Child", "c");
        Ok(ctx.select2(child, ctx.schedule_timer(SECOND)).await.index().to_string())
    }
    forgets_child(ctx, _input) {
        std::mem::forget(ctx.schedule_sub_orchestration("Child", "c"));
        ctx.schedule_activity("A", "1").await
    }
    two_children(ctx, _input) {
        let (a, b) = (
            ctx.schedule_sub_orchestration("Child", "a"),
            ctx.schedule_sub_orchestration_with_id("Child", "own-id", "b"),
        );
        let (a, b) = ctx.join2(a, b).await;
        Ok(a? + &b?)
    }
    drops_child_at_once(ctx, _input) {
        drop(ctx.schedule_sub_orchestration("Child", "c"));
        ctx.schedule_activity("A", "1").await
    }
    child_after_activity(ctx, _input) {
        let result = ctx.schedule_activity("A", "1").await?;
        ctx.schedule_sub_orchestration("Child", result).await
    }

    detached(ctx, input) {
        ctx.schedule_orchestration("Other", input, "d");
        ctx.schedule_activity("A", "1").await
    }
    detached_with_other_instance(ctx, _input) {
        ctx.schedule_orchestration("Other", "elsewhere", "d");
        ctx.schedule_activity("A", "1").await
    }
    detached_with_other_input(ctx, input) {
        ctx.schedule_orchestration("Other", input, "e");
        ctx.schedule_activity("A", "1").await
    }
    detached_versioned(ctx, input) {
        ctx.schedule_orchestration_versioned("Other", Some("2.0.0".to_owned()), input, "d");
        ctx.schedule_activity("A", "1").await
    }
    detached_then_continue(ctx, input) {
        ctx.schedule_orchestration("Other", "other-1", "d");
        ctx.continue_as_new(input).await
    }

    continues(ctx, input) { ctx.continue_as_new(input).await }
    continues_versioned(ctx, input) { ctx.continue_as_new_versioned("2.0.0", input).await }
    continues_typed(ctx, _input) { ctx.continue_as_new_typed(&vec![1, 2]).await }
    continues_twice(ctx, _input) {
        let _never = (ctx.continue_as_new("first"), ctx.continue_as_new("second"));
        Ok("ignored".to_owned())
    }
    continues_between_activities(ctx, _input) {
        std::mem::forget(ctx.schedule_activity("A", "1"));
        let _never = ctx.continue_as_new("again");
        std::mem::forget(ctx.schedule_activity("B", "2"));
        std::mem::forget(ctx.schedule_wait("go"));
        Ok("ignored".to_owned())
    }
    continues_after_activity(ctx, input) {
        if input == "again" {
            return ctx.schedule_activity("B", "2").await;
        }
        let _result = ctx.schedule_activity("A", "1").await;
        ctx.continue_as_new("again").await
    }
    continues_with_work_open(ctx, input) {
        if input == "again" {
            return ctx.schedule_activity("B", "2").await;
        }
        let _slow = ctx.schedule_activity("Slow", "1");
        let _child = ctx.schedule_sub_orchestration("Child", "c");
        let _wait = ctx.schedule_wait("go");
        ctx.schedule_timer(SECOND).await;
        ctx.continue_as_new("again").await
    }

    guid(ctx, _input) { ctx.new_guid().await }
    now(ctx, _input) {
        let since = ctx.utc_now().await?.duration_since(UNIX_EPOCH);
        since.map(|since| since.as_millis().to_string()).map_err(|error| error.to_string())
    }
    describes_itself(ctx, _input) {
        Ok(format!(
            "{} {} {} {}",
            ctx.instance_id(),
            ctx.execution_id(),
            ctx.orchestration_name(),
            ctx.orchestration_version()
        ))
    }
}
