//! An input is stored, so it serializes.

use duroxide::prelude::*;

struct Order {
    cents: u64,
}

#[activity]
async fn charge(_ctx: ActivityContext, order: Order) -> Result<String, String> {
    Ok(format!("{} cents charged", order.cents))
}

fn main() {}
