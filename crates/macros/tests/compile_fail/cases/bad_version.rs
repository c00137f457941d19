//! A version has three numbers.

use duroxide::prelude::*;

#[orchestration(version = "2")]
async fn buy(_ctx: OrchestrationContext, cents: u64) -> Result<u64, String> {
    Ok(cents)
}

#[orchestration(version = 2.0)]
async fn ship(_ctx: OrchestrationContext, cents: u64) -> Result<u64, String> {
    Ok(cents)
}

fn main() {}
