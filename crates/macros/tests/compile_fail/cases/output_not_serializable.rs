//! A result is stored, so it serializes.

use duroxide::prelude::*;

struct Receipt {
    cents: u64,
}

#[activity]
async fn charge(_ctx: ActivityContext, cents: u64) -> Result<Receipt, String> {
    Ok(Receipt { cents })
}

fn main() {}
