//! A call that is not awaited is dropped at once, which cancels it.
#![deny(unused_must_use)]

use duroxide::prelude::*;

#[activity]
async fn charge(_ctx: ActivityContext, cents: u64) -> Result<String, String> {
    Ok(format!("{cents} cents charged"))
}

#[orchestration]
async fn ship(ctx: OrchestrationContext) -> Result<(), String> {
    ctx.schedule_timer(Duration::from_secs(60));
    Ok(())
}

#[orchestration]
async fn buy(ctx: OrchestrationContext, cents: u64) -> Result<(), String> {
    ctx.call(charge, cents);
    ctx.child(ship, ());
    Ok(())
}

fn main() {}
