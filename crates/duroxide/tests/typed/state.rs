//! Activities with a state.

use std::sync::atomic::{AtomicU64, Ordering};

use duroxide::prelude::*;

use crate::support::node;

#[derive(Default)]
struct Counter {
    sum: AtomicU64,
}

#[activity]
impl Counter {
    async fn add(&self, _ctx: ActivityContext, number: u64) -> Result<u64, String> {
        Ok(self.add_now(number))
    }

    #[activity(name = "Reset")]
    async fn reset(&self, _ctx: ActivityContext) -> Result<(), String> {
        self.sum.store(0, Ordering::SeqCst);
        let checked: Result<(), std::num::ParseIntError> = "1".parse::<u64>().map(drop);
        checked.map_err(|error| error.to_string())?;
        Ok(())
    }

    fn add_now(&self, number: u64) -> u64 {
        self.sum.fetch_add(number, Ordering::SeqCst) + number
    }
}

#[orchestration]
async fn count(ctx: OrchestrationContext, numbers: Vec<u64>) -> Result<u64, String> {
    ctx.call(Counter::reset, ()).await?;
    let mut sum = 0;
    for number in numbers {
        sum = ctx.call(Counter::add, number).await?;
    }
    Ok(sum)
}

#[tokio::test]
async fn methods_of_a_state_are_activities() {
    let counter = Arc::new(Counter::default());
    let builder = DuroxideRuntime::builder().register(count).register_state(counter.clone());
    let (runtime, client) = node(builder).await;
    let count = client.start(count, "count", vec![1, 2, 3]).await.unwrap();
    assert_eq!(count.result().await, Ok(6));
    assert_eq!(counter.sum.load(Ordering::SeqCst), 6);
    runtime.shutdown(None).await;
}

#[tokio::test]
async fn a_state_may_be_a_value() {
    let registry = ActivityRegistry::builder().register_state(Counter::default()).build();
    assert_eq!(registry.list_names(), ["Reset", "add"]);
}
