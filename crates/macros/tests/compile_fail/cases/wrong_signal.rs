//! The payload of a signal has the type that the signal names.

use duroxide::prelude::*;

const APPROVED: Signal<bool> = Signal::new("approved");

#[orchestration]
async fn buy(ctx: OrchestrationContext) -> Result<String, String> {
    let by: String = ctx.wait(APPROVED).await?;
    Ok(by)
}

async fn approve(client: &Client) -> Result<(), ClientError> {
    client.attach(buy, "order-17").raise(APPROVED, "Ada").await
}

fn main() {}
