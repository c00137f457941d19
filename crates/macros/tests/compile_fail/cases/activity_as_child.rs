//! `ctx.child` starts orchestrations; an activity is called with `ctx.call`.

use duroxide::prelude::*;

#[activity]
async fn charge(_ctx: ActivityContext, cents: u64) -> Result<String, String> {
    Ok(format!("{cents} cents charged"))
}

#[orchestration]
async fn buy(ctx: OrchestrationContext, cents: u64) -> Result<String, String> {
    Ok(ctx.child(charge, cents).await?)
}

fn main() {}
