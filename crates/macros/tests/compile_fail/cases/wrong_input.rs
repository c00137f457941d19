//! The input of a call has the type that the function takes.

use duroxide::prelude::*;

#[activity]
async fn charge(_ctx: ActivityContext, cents: u64) -> Result<String, String> {
    Ok(format!("{cents} cents charged"))
}

#[orchestration]
async fn buy(ctx: OrchestrationContext, order: String) -> Result<String, String> {
    Ok(ctx.call(charge, order).await?)
}

fn main() {}
