//! The test kit.

use std::time::{Duration, SystemTime};

use duroxide::testing::{
    ActivityEnv, CrashReport, RecordedCall, Replayer, TestEnv, TestEnvBuilder, TestError,
};
use duroxide::{Client, OrchestrationRegistry, RuntimeOptions};

use crate::{is, is_send};

fn builder() -> TestEnvBuilder {
    TestEnv::builder()
        .orchestrations(OrchestrationRegistry::builder().build())
        .activities(duroxide::runtime::registry::ActivityRegistry::builder().build())
        .mock_named("A", |input: &str| Ok(input.to_owned()))
        .mock_sequence_named("B", [Ok("1".to_owned()), Err("2".to_owned())])
        .replay_every_turn(true)
        .options(|options: RuntimeOptions| options.with_max_attempts(3))
}

async fn env() -> Result<(), TestError> {
    let env = builder().build();
    is::<&Client>(env.client());
    is::<SystemTime>(env.now());
    is::<Duration>(env.elapsed());
    env.start_named("Code", "i-1", "in").await?;
    env.until_idle().await?;
    env.advance(Duration::from_secs(1)).await?;
    env.raise_named("i-1", "event", "data").await?;
    is::<Vec<RecordedCall>>(env.calls_named("A"));
    is::<String>(env.history_named("i-1").await?);
    is::<String>(env.export("i-1").await?);
    is::<duroxide::client::why::Why>(env.why_named("i-1").await?);
    env.restart().await?;
    is::<Result<String, String>>(env.result_named("i-1").await?);
    Ok(())
}

async fn repeated() {
    is::<CrashReport>(builder().crash_at_every_commit(|_env| async { 1 }).await);
    is::<Vec<u8>>(builder().orders([1, 2], |_env| async { 1_u8 }).await);
    is::<Option<String>>(ActivityEnv::new().with_attempt(2).progress().await);
    is::<Replayer>(Replayer::default());
}

#[test]
fn signatures_compile() {
    drop(is_send(env()));
    drop(repeated());
}
