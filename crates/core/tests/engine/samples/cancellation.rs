//! Code that answers requests to end.

use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

super::samples! {
    compensates(ctx, _input) {
        let receipt = ctx.schedule_activity("Charge", "1").await?;
        match ctx.cancellable(ctx.schedule_activity("Ship", "1")).await {
            Ok(shipped) => shipped,
            Err(request) => {
                ctx.schedule_activity("Refund", receipt).await?;
                Err(format!("withdrawn: {}", request.reason))
            }
        }
    }
    waits_for_request(ctx, _input) { Ok(ctx.cancelled().await.reason) }
    ignores_request(ctx, _input) {
        let first = ctx.schedule_activity("A", "1").await?;
        let asked = ctx.cancel_request().map_or("no".to_owned(), |request| request.reason);
        ctx.schedule_activity("B", first + &asked).await
    }
    gives_up_child(ctx, _input) {
        let child = ctx.schedule_sub_orchestration("Child", "c");
        let late = ctx.cancellable(child).await.is_err();
        drop(ctx.schedule_sub_orchestration("Cleaner", "c"));
        ctx.schedule_activity("After", late.to_string()).await
    }
    returns_with_open_child(ctx, _input) {
        std::mem::forget(ctx.schedule_sub_orchestration("Child", "c"));
        Ok(ctx.cancelled().await.reason)
    }
    continues_when_asked(ctx, input) {
        match ctx.cancellable(ctx.schedule_timer(SECOND)).await {
            Ok(()) => Ok(input),
            Err(_request) if input == "1" => ctx.continue_as_new("2").await,
            Err(request) => Err(request.reason),
        }
    }
    part_after_request(ctx, _input) {
        ctx.cancelled().await;
        let part = ctx.cancellable(async { ctx.schedule_activity("Never", "1").await }).await;
        ctx.schedule_activity("After", part.is_err().to_string()).await
    }
}
