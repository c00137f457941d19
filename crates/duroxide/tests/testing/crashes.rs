//! A crash at every commit.

use duroxide::testing::TestEnv;

use crate::code::{Order, buy, charge, fan_out, notify, order};

#[tokio::test]
async fn a_workflow_survives_a_crash_at_every_commit() {
    let builder =
        TestEnv::builder().register(buy).mock(charge, |_order: Order| Ok("paid".to_owned()));
    let test = |env: TestEnv| async move {
        let run = env.start(buy, "o-1", order()).await.map_err(|error| error.to_string())?;
        env.result(&run).await.map_err(|error| error.to_string())
    };
    let report = builder.crash_at_every_commit(test).await;
    // Two turns before the charge, its result, and the last turn.
    assert_eq!((report.commits, report.crashes), (4, 8));
}

#[tokio::test]
async fn a_fan_out_survives_a_crash_at_every_commit() {
    let builder = TestEnv::builder().register(fan_out).mock(notify, |text: String| Ok(text.len()));
    let test = |env: TestEnv| async move {
        let names = ["a", "bb", "ccc", "dddd"].map(str::to_owned).to_vec();
        let run = env.start(fan_out, "f-1", names).await.map_err(|error| error.to_string())?;
        env.result(&run).await.map_err(|error| error.to_string())
    };
    let report = builder.crash_at_every_commit(test).await;
    assert!(report.commits >= 6, "{report:?}");
}

/// An activity runs again if its result is lost, so that the number of its runs depends on crashes.
#[tokio::test]
#[should_panic(expected = "a crash right before commit 3 of 4 changes the result")]
async fn a_result_that_a_crash_changes_is_reported() {
    let builder =
        TestEnv::builder().register(buy).mock(charge, |_order: Order| Ok("paid".to_owned()));
    let test = |env: TestEnv| async move {
        let run = env.start(buy, "o-1", order()).await.map_err(|error| error.to_string())?;
        env.result(&run).await.map_err(|error| error.to_string())?;
        env.calls(charge).map(|calls| calls.len()).map_err(|error| error.to_string())
    };
    builder.crash_at_every_commit(test).await;
}
