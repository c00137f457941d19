//! Each kind of function has its own context, and takes it by value.

use duroxide::prelude::*;

#[activity]
async fn charge(_ctx: OrchestrationContext, cents: u64) -> Result<String, String> {
    Ok(format!("{cents} cents charged"))
}

#[orchestration]
async fn buy(_ctx: &OrchestrationContext, _cents: u64) -> Result<(), String> {
    Ok(())
}

fn main() {}
