//! Several parameters are one tuple for the caller.

use duroxide::prelude::*;

#[activity]
async fn add(_ctx: ActivityContext, left: u64, right: u64) -> Result<u64, String> {
    Ok(left + right)
}

#[orchestration]
async fn sum(ctx: OrchestrationContext) -> Result<u64, String> {
    Ok(ctx.call(add, 1).await?)
}

fn main() {}
