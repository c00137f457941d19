//! A method becomes an activity with its whole block, and shares its state.

use duroxide::prelude::*;

struct Bank;

impl Bank {
    #[activity]
    async fn charge(&self, _ctx: ActivityContext, cents: u64) -> Result<String, String> {
        Ok(format!("{cents} cents charged"))
    }
}

fn main() {}
