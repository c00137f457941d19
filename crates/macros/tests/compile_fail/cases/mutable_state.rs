//! Several calls use a state at the same time.

use duroxide::prelude::*;

struct Bank {
    charged: u64,
}

#[activity]
impl Bank {
    async fn charge(&mut self, _ctx: ActivityContext, cents: u64) -> Result<u64, String> {
        self.charged += cents;
        Ok(self.charged)
    }
}

fn main() {}
