//! The clock of a test: it stands still until the test waits.

use std::time::Duration;

use duroxide::prelude::*;
use duroxide::testing::{TestEnv, TestError};

use crate::code::{APPROVED, DAY, approval, notify};

type Tested = Result<(), Box<dyn std::error::Error>>;

fn env() -> TestEnv {
    TestEnv::builder().register(approval).mock(notify, |_text: String| Ok(0)).build()
}

#[tokio::test]
async fn an_event_arrives_before_the_timer_that_it_races() -> Tested {
    let env = env();
    let run = env.start(approval, "a-1", "Ada").await?;
    env.until_idle().await?;
    env.raise(&run, APPROVED, "Grace").await?;
    assert_eq!(env.result(&run).await?, "approved by Grace");
    assert_eq!(env.elapsed(), Duration::ZERO);
    assert_eq!(env.calls(notify)?, Vec::<String>::new());
    Ok(())
}

#[tokio::test]
async fn advance_fires_what_is_due_and_no_more() -> Tested {
    let env = env();
    let run = env.start(approval, "a-1", "Ada").await?;
    env.advance(DAY + DAY / 2).await?;
    assert_eq!(env.elapsed(), DAY + DAY / 2);
    assert_eq!(env.calls(notify)?, ["Ada"]);
    env.raise(&run, APPROVED, "Grace").await?;
    assert_eq!(env.result(&run).await?, "approved by Grace");
    assert_eq!(env.elapsed(), DAY + DAY / 2);
    Ok(())
}

#[tokio::test]
async fn without_an_event_all_timers_fire() -> Tested {
    let env = env();
    let run = env.start(approval, "a-1", "Ada").await?;
    let error = env.result(&run).await.unwrap_err();
    assert_eq!(error, CallError::App("no decision".to_owned()));
    assert_eq!(env.elapsed(), 2 * DAY);
    assert_eq!(env.calls(notify)?.len(), 2);
    Ok(())
}

#[tokio::test]
async fn an_instance_that_no_timer_wakes_is_explained() -> Tested {
    let waits = OrchestrationRegistry::builder()
        .register("Waits", |ctx: OrchestrationContext, _input: String| async move {
            Ok(ctx.schedule_wait("never").await)
        })
        .build();
    let env = TestEnv::builder().orchestrations(waits).build();
    env.start_named("Waits", "w-1", "").await?;
    let error = env.result_named("w-1").await.unwrap_err();
    let TestError::Stuck { why } = &error else { panic!("{error}") };
    assert!(why.contains("never"), "{why}");
    assert!(env.why_named("w-1").await?.to_string().contains("never"));
    assert!(matches!(env.result_named("unknown").await, Err(TestError::NotFound(_))));
    Ok(())
}

#[tokio::test]
async fn a_restarted_node_goes_on() -> Tested {
    let env = env();
    let run = env.start(approval, "a-1", "Ada").await?;
    env.until_idle().await?;
    env.restart().await?;
    env.raise(&run, APPROVED, "Grace").await?;
    assert_eq!(env.result(&run).await?, "approved by Grace");
    Ok(())
}
