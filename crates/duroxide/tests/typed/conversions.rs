//! `?` turns the errors that workflow code meets into `anyhow::Error`, into boxed errors and into
//! `String`.

use duroxide::prelude::*;
use duroxide::providers::ProviderError;
use duroxide::runtime::{ProgressError, RuntimeBuildError};
use duroxide::testing::TestError;
use duroxide::typed::PayloadError;
use duroxide::{Elapsed, UndoFailure};

type Boxed = Box<dyn std::error::Error + Send + Sync>;

/// Compiles for errors that `?` converts into all three.
fn converts<E: Into<anyhow::Error> + Into<Boxed> + Into<String>>() {}

/// Compiles for errors of programs rather than of workflow code.
fn converts_in_programs<E: Into<anyhow::Error> + Into<Boxed>>() {}

#[test]
fn errors_of_workflow_code_convert() {
    converts::<CallError<String>>();
    converts::<CallError<anyhow::Error>>();
    converts::<PayloadError>();
    converts::<Elapsed>();
    converts::<ClientError>();
    converts::<ProgressError>();
    converts::<UndoFailure>();
    converts::<TestError>();
    converts_in_programs::<RuntimeBuildError>();
    converts_in_programs::<ProviderError>();
}

#[activity]
async fn announce(ctx: ActivityContext, id: String) -> Result<String, String> {
    ctx.report_progress("half").await?;
    Ok(ctx.get_client().get_instance_info(&id).await?.status)
}

#[orchestration]
async fn tell(ctx: OrchestrationContext, id: String) -> anyhow::Result<String> {
    Ok(ctx.timeout(Duration::from_secs(60), ctx.call(announce, id)).await??)
}

#[tokio::test]
async fn an_error_keeps_its_text_through_two_conversions() {
    let env = duroxide::testing::TestEnv::builder().register(tell).register(announce).build();
    let run = env.start(tell, "tell-1", "nowhere").await.unwrap();
    let failed = env.result(&run).await.unwrap_err().to_string();
    assert_eq!(failed, "Instance nowhere not found");
}
