//! A long workflow as a short test.

use duroxide::prelude::*;
use duroxide::testing::TestEnv;

use crate::code::{DAY, notify};

/// Ten timers of a day each, and twenty activities.
#[orchestration]
async fn long(ctx: OrchestrationContext) -> Result<usize, String> {
    let mut sum = 0;
    for day in 0..10 {
        ctx.schedule_timer(DAY).await;
        let (a, b) = duroxide::join!(
            ctx.call(notify, format!("a{day}")),
            ctx.call(notify, format!("b{day}")),
        );
        sum += a.map_err(|error| error.to_string())? + b.map_err(|error| error.to_string())?;
    }
    Ok(sum)
}

async fn test_once() {
    let env = TestEnv::builder().register(long).mock(notify, |text: String| Ok(text.len())).build();
    let run = env.start(long, "l-1", ()).await.unwrap();
    assert_eq!(env.result(&run).await.unwrap(), 40);
    assert_eq!(env.elapsed(), 10 * DAY);
    assert_eq!(env.calls(notify).unwrap().len(), 20);
}

#[tokio::test]
async fn ten_days_and_twenty_activities_pass_as_a_test() {
    test_once().await;
}
