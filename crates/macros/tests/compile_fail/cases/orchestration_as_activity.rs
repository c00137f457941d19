//! `ctx.call` calls activities; an orchestration is started with `ctx.child`.

use duroxide::prelude::*;

#[orchestration]
async fn ship(_ctx: OrchestrationContext, order: String) -> Result<String, String> {
    Ok(order)
}

#[orchestration]
async fn buy(ctx: OrchestrationContext, order: String) -> Result<String, String> {
    Ok(ctx.call(ship, order).await?)
}

fn main() {}
