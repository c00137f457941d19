//! `join!`, `select!`, deadlines, bounded fan-out and sagas.

use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

super::samples! {
    join_arms(ctx, _input) {
        let (a, block, (), text) = duroxide_core::join!(
            ctx.schedule_activity("A", "1"),
            async {
                let first = ctx.schedule_activity("B", "2").await?;
                ctx.schedule_activity("C", first).await
            },
            ctx.schedule_timer(SECOND),
            async { "ready" },
        );
        Ok(format!("{},{},{text}", a?, block?))
    }
    select_arms(ctx, _input) {
        duroxide_core::select! {
            a = ctx.schedule_activity("A", "1") => a,
            b = async { ctx.schedule_activity("B", "2").await } => {
                let b = b?;
                Ok(format!("B {b}"))
            }
            data = ctx.schedule_wait("go") => { Ok(data) },
            () = ctx.schedule_timer(SECOND) => Err("late".to_owned()),
        }
    }
    select_arms_ready(ctx, _input) {
        let (a, b) = (ctx.schedule_activity("A", "1"), ctx.schedule_activity("B", "2"));
        ctx.schedule_timer(SECOND).await;
        Ok(duroxide_core::select! { _ = b => "B", _ = a => "A" }.to_owned())
    }
    select_arms_by_reference(ctx, _input) {
        let mut a = ctx.schedule_activity("A", "1");
        for _round in 0..2 {
            duroxide_core::select! {
                a = &mut a => return a,
                () = ctx.schedule_timer(SECOND) => continue,
            }
        }
        Err("late".to_owned())
    }
    in_time(ctx, _input) {
        let steps = async {
            let first = ctx.schedule_activity("A", "1").await?;
            ctx.schedule_activity("B", first).await
        };
        ctx.timeout(SECOND, steps).await?
    }
    fan_out(ctx, input) {
        let (items, concurrency) = input.split_once('/').unwrap_or_default();
        let items = 0..items.parse().unwrap_or(0_usize);
        let start = |item: usize| ctx.schedule_activity("A", item.to_string());
        let results = ctx.map_concurrent(items, concurrency.parse().unwrap_or(0), start).await;
        let results: Result<Vec<String>, String> = results.into_iter().collect();
        Ok(format!("[{}]", results?.join(",")))
    }
    saga(ctx, _input) {
        let mut saga = ctx.saga();
        let steps = async {
            for step in ["A", "B"] {
                let done = ctx.schedule_activity(step, "1").await?;
                let ctx = ctx.clone();
                saga.on_error(step, move || ctx.schedule_activity(format!("Undo{step}"), done));
            }
            ctx.schedule_activity("C", "1").await
        };
        let result = steps.await;
        saga.finish(result).await
    }
}
