//! An error is stored with its text.

use duroxide::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
enum PayError {
    Declined,
}

#[activity]
async fn charge(_ctx: ActivityContext, _cents: u64) -> Result<String, PayError> {
    Err(PayError::Declined)
}

fn main() {}
