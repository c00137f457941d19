//! Combinators of the crate `futures` that are safe in orchestrations: they poll in an order that
//! only the wake-ups decide, and those come from history. Each runs under `replay_every_turn`, in
//! several orders of completions.

use duroxide::prelude::*;
use duroxide::testing::TestEnv;
use futures_util::future::{self, Either};
use futures_util::stream::{FuturesOrdered, FuturesUnordered, StreamExt};

type Outcome = Result<String, String>;

fn call(ctx: &OrchestrationContext, name: usize) -> DurableFuture<Outcome> {
    ctx.schedule_activity("Echo", name.to_string())
}

async fn join_all(ctx: OrchestrationContext, _input: String) -> Outcome {
    let all = future::join_all((0..40).map(|name| call(&ctx, name))).await;
    all.into_iter().collect()
}

async fn try_join_all(ctx: OrchestrationContext, _input: String) -> Outcome {
    let all = future::try_join_all((0..5).map(|name| call(&ctx, name))).await?;
    Ok(all.join(","))
}

async fn select(ctx: OrchestrationContext, _input: String) -> Outcome {
    match future::select(call(&ctx, 0), call(&ctx, 1)).await {
        Either::Left((first, second)) => Ok(first? + &second.await?),
        Either::Right((second, first)) => Ok(second? + &first.await?),
    }
}

async fn unordered(ctx: OrchestrationContext, _input: String) -> Outcome {
    let mut running: FuturesUnordered<_> = (0..4).map(|name| call(&ctx, name)).collect();
    let mut order = String::new();
    while let Some(name) = running.next().await {
        order += &name?;
        // Work that follows depends on the order of completions, and so does history.
        order += &ctx.schedule_activity("Echo", order.len().to_string()).await?;
    }
    Ok(order)
}

async fn ordered(ctx: OrchestrationContext, _input: String) -> Outcome {
    let running: FuturesOrdered<_> = (0..4).map(|name| call(&ctx, name)).collect();
    running.collect::<Vec<_>>().await.into_iter().collect()
}

async fn buffered(ctx: OrchestrationContext, _input: String) -> Outcome {
    let calls = futures_util::stream::iter((0..6).map(|name| call(&ctx, name)));
    calls.buffer_unordered(3).collect::<Vec<_>>().await.into_iter().collect()
}

#[tokio::test]
async fn safe_combinators_replay_in_every_order() {
    let code = OrchestrationRegistry::builder()
        .register("join_all", join_all)
        .register("try_join_all", try_join_all)
        .register("select", select)
        .register("unordered", unordered)
        .register("ordered", ordered)
        .register("buffered", buffered)
        .build();
    let builder = || {
        let builder = TestEnv::builder().orchestrations(code.clone());
        builder.mock_named("Echo", |input: &str| Ok(input.to_owned()))
    };
    for name in code.list_names() {
        let test = |env: TestEnv| {
            let name = name.clone();
            async move {
                env.start_named(&name, "i-1", "").await.unwrap();
                env.result_named("i-1").await.unwrap()
            }
        };
        let found = builder().orders(0..4, test).await;
        assert!(found.iter().all(Result::is_ok), "{name}: {found:?}");
    }
}
