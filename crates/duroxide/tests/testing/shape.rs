//! The shape that a test has.

use duroxide::prelude::*;
use duroxide::testing::TestEnv;

use crate::code::{DAY, Order, PayError, buy, charge, order};

type Tested = Result<(), Box<dyn std::error::Error>>;

#[tokio::test]
async fn three_days_pass_in_milliseconds() -> Tested {
    let env = TestEnv::builder()
        .register(buy)
        .mock(charge, |_order: Order| Ok("free".to_owned()))
        .build();
    let run = env.start(buy, "o-1", order()).await?;
    assert_eq!(env.result(&run).await?, "free");
    assert_eq!(env.elapsed(), 3 * DAY);
    Ok(())
}

#[tokio::test]
async fn a_real_activity_runs_beside_mocks() -> Tested {
    let env = TestEnv::builder().register(buy).register(charge).build();
    let run = env.start(buy, "o-1", order()).await?;
    let error = env.result(&run).await.unwrap_err();
    assert_eq!(error, CallError::App(PayError::Declined("book".to_owned())));
    assert_eq!(env.calls(charge)?, [order()]);
    Ok(())
}

#[tokio::test]
async fn a_history_is_a_short_text() -> Tested {
    let env = TestEnv::builder()
        .register(buy)
        .mock(charge, |order: Order| Ok(format!("receipt {}", order.amount)))
        .build();
    let run = env.start(buy, "o-1", order()).await?;
    assert_eq!(env.result(&run).await?, "receipt 12");
    let expected = "\
+0s         1 started buy 1.0.0({\"amount\":12,\"item\":\"book\"})
+0s         2 timer 3d
+3d         3 #2 fired
+3d         4 activity charge({\"amount\":12,\"item\":\"book\"})
+3d         5 #4 done: receipt 12
+3d         6 completed: receipt 12
";
    assert_eq!(env.history(&run).await?, expected);
    Ok(())
}

#[tokio::test]
async fn code_that_is_missing_is_named_at_the_start() -> Tested {
    let env = TestEnv::builder().register(buy).build();
    let error = env.start(buy, "o-1", order()).await.unwrap_err().to_string();
    assert!(error.contains("charge") && error.ends_with("a mock takes its place"), "{error}");
    Ok(())
}

#[tokio::test]
async fn orchestrations_and_mocks_by_name_work_together() -> Tested {
    let old = OrchestrationRegistry::builder()
        .register("Old", |ctx: OrchestrationContext, input: String| async move {
            let id = ctx.new_guid().await?;
            ctx.schedule_activity("Pay", format!("{input} {}", id.len())).await
        })
        .build();
    let env = TestEnv::builder()
        .orchestrations(old)
        .mock_named("Pay", |input: &str| Ok(format!("paid {input}")))
        .build();
    env.start_named("Old", "i-1", "7").await?;
    assert_eq!(env.result_named("i-1").await?, Ok("paid 7 36".to_owned()));
    let call = env.calls_named("Pay").remove(0);
    assert_eq!((call.input.as_str(), call.attempt, call.at_ms), ("7 36", 1, 0));
    let history = env.history_named("i-1").await?;
    assert!(history.contains("done: (random)"), "{history}");
    Ok(())
}
