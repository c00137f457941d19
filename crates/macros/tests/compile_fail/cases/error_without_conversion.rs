//! `?` needs a conversion from the error of the call.

use std::fmt;

use duroxide::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
enum OrderError {
    Unpaid,
}

impl fmt::Display for OrderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the order is not paid")
    }
}

#[activity]
async fn charge(_ctx: ActivityContext, cents: u64) -> Result<String, String> {
    Ok(format!("{cents} cents charged"))
}

#[orchestration]
async fn buy(ctx: OrchestrationContext, cents: u64) -> Result<String, OrderError> {
    match cents {
        0 => Err(OrderError::Unpaid),
        cents => Ok(ctx.call(charge, cents).await?),
    }
}

fn main() {}
