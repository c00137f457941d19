//! A call takes the function itself, not its future.

use duroxide::prelude::*;

#[orchestration]
async fn ship(_ctx: OrchestrationContext, order: String) -> Result<String, String> {
    Ok(order)
}

#[orchestration]
async fn buy(ctx: OrchestrationContext, order: String) -> Result<String, String> {
    Ok(ctx.child(ship(ctx.clone(), order.clone()), order).await?)
}

fn main() {}
