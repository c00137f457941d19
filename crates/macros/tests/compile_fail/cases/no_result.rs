//! A function that cannot fail returns a `Result`, too: its call can fail for other reasons.

use duroxide::prelude::*;

#[activity]
async fn charge(_ctx: ActivityContext, cents: u64) -> String {
    format!("{cents} cents charged")
}

#[orchestration]
async fn buy(_ctx: OrchestrationContext) {}

fn main() {}
