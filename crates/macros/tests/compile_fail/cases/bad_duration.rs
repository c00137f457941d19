//! A duration is a number and a unit.

use duroxide::prelude::*;

#[activity(timeout = "30 seconds")]
async fn charge(_ctx: ActivityContext, cents: u64) -> Result<String, String> {
    Ok(format!("{cents} cents charged"))
}

#[activity(timeout = 30)]
async fn refund(_ctx: ActivityContext, cents: u64) -> Result<String, String> {
    Ok(format!("{cents} cents refunded"))
}

fn main() {}
