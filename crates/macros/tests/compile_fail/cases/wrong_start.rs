//! A client starts an orchestration with the input that the function takes.

use duroxide::prelude::*;

#[orchestration]
async fn buy(_ctx: OrchestrationContext, cents: u64) -> Result<u64, String> {
    Ok(cents)
}

async fn start(client: &Client) -> Result<(), ClientError> {
    let _order = client.start(buy, "order-17", "three apples").await?;
    Ok(())
}

fn main() {}
