//! An input is read from a store, so it borrows from nothing.

use duroxide::prelude::*;

#[activity]
async fn charge(_ctx: ActivityContext, order: &str) -> Result<String, String> {
    Ok(order.to_owned())
}

fn main() {}
