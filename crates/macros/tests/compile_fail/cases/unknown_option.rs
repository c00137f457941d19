//! Options are those of the attribute.

use duroxide::prelude::*;

#[activity(retries = 3)]
async fn charge(_ctx: ActivityContext, cents: u64) -> Result<String, String> {
    Ok(format!("{cents} cents charged"))
}

#[orchestration(timeout = "30s")]
async fn buy(_ctx: OrchestrationContext, cents: u64) -> Result<u64, String> {
    Ok(cents)
}

fn main() {}
