//! The result of a call has the type that the function returns.

use duroxide::prelude::*;

#[activity]
async fn charge(_ctx: ActivityContext, cents: u64) -> Result<String, String> {
    Ok(format!("{cents} cents charged"))
}

#[orchestration]
async fn buy(ctx: OrchestrationContext, cents: u64) -> Result<u64, String> {
    let charged: u64 = ctx.call(charge, cents).await?;
    Ok(charged)
}

fn main() {}
