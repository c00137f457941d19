//! Activities and orchestrations are `async`.

use duroxide::prelude::*;

#[activity]
fn charge(_ctx: ActivityContext, cents: u64) -> Result<String, String> {
    Ok(format!("{cents} cents charged"))
}

#[orchestration]
fn buy(_ctx: OrchestrationContext) -> Result<(), String> {
    Ok(())
}

fn main() {}
