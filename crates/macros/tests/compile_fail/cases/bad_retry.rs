//! A retry policy has an end, and its options are checked.

use duroxide::prelude::*;

#[activity(retry(backoff = "1s"))]
async fn charge(_ctx: ActivityContext, cents: u64) -> Result<String, String> {
    Ok(format!("{cents} cents charged"))
}

#[activity(retry(attempts = 0))]
async fn refund(_ctx: ActivityContext, cents: u64) -> Result<String, String> {
    Ok(format!("{cents} cents refunded"))
}

#[activity(retry(attempts = 3, jitter = 20))]
async fn release(_ctx: ActivityContext, cents: u64) -> Result<String, String> {
    Ok(format!("{cents} cents released"))
}

fn main() {}
