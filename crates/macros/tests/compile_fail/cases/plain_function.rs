//! A function without an attribute has no recorded name.

use duroxide::prelude::*;

async fn charge(_ctx: ActivityContext, cents: u64) -> Result<String, String> {
    Ok(format!("{cents} cents charged"))
}

#[orchestration]
async fn buy(ctx: OrchestrationContext, cents: u64) -> Result<String, String> {
    Ok(ctx.call(charge, cents).await?)
}

fn register() {
    let _builder = DuroxideRuntime::builder().register(charge);
}

fn main() {}
