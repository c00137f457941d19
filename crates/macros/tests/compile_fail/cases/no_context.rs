//! The first parameter is the context.

use duroxide::prelude::*;

#[activity]
async fn charge(cents: u64) -> Result<String, String> {
    Ok(format!("{cents} cents charged"))
}

#[orchestration]
async fn buy() -> Result<(), String> {
    Ok(())
}

fn main() {}
