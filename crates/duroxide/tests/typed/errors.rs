//! Errors keep their type on the way to the caller, and their text for everything else.

use duroxide::prelude::*;
use serde::{Deserialize, Serialize};

use crate::support::node;

#[derive(Debug, Clone, PartialEq, thiserror::Error, Serialize, Deserialize)]
enum PayError {
    #[error("declined with code {code}")]
    Declined { code: u32 },
    #[error("the bank is down")]
    Down,
}

#[derive(Debug, Clone, PartialEq, thiserror::Error, Serialize, Deserialize)]
enum OrderError {
    #[error(transparent)]
    Pay(#[from] CallError<PayError>),
    #[error("{0}")]
    Text(String),
}

impl From<CallError<String>> for OrderError {
    fn from(error: CallError<String>) -> Self {
        Self::Text(error.to_string())
    }
}

#[activity]
async fn charge(_ctx: ActivityContext, code: u32) -> Result<(), PayError> {
    match code {
        0 => Err(PayError::Down),
        1 => panic!("a broken card reader"),
        code => Err(PayError::Declined { code }),
    }
}

#[activity]
async fn text(_ctx: ActivityContext, text: String) -> Result<(), String> {
    Err(text.replace('\'', "\""))
}

#[activity]
async fn amount(_ctx: ActivityContext, text: String) -> anyhow::Result<u32> {
    use anyhow::Context as _;
    text.parse::<u32>().with_context(|| format!("'{text}' is no amount"))
}

#[activity]
async fn boxed(_ctx: ActivityContext) -> Result<u32, Box<dyn std::error::Error + Send + Sync>> {
    Ok("x".parse::<u32>()?)
}

#[orchestration]
async fn order(ctx: OrchestrationContext, code: u32) -> Result<(), OrderError> {
    Ok(ctx.call(charge, code).await?)
}

#[orchestration]
async fn texts(ctx: OrchestrationContext, said: String) -> Result<(), OrderError> {
    Ok(ctx.call(text, said).await?)
}

#[orchestration]
async fn dynamic(ctx: OrchestrationContext, said: String) -> anyhow::Result<u32> {
    let boxed = ctx.call(boxed, ()).await;
    let text = boxed.map_err(|error| error.to_string()).unwrap_err();
    anyhow::ensure!(text == "invalid digit found in string", text);
    match ctx.call(amount, said).await {
        Ok(number) => Ok(number),
        Err(CallError::App(error)) => Err(error.context("cannot pay")),
        Err(other) => anyhow::bail!("{other}"),
    }
}

#[orchestration]
async fn parent(ctx: OrchestrationContext, code: u32) -> Result<(), OrderError> {
    match ctx.child(order, code).await {
        Err(CallError::App(OrderError::Pay(CallError::App(PayError::Declined { code })))) => {
            Err(OrderError::Text(format!("child: {code}")))
        }
        other => Err(OrderError::Text(format!("{other:?}"))),
    }
}

fn builder() -> duroxide::runtime::RuntimeBuilder {
    let builder = DuroxideRuntime::builder().register(order).register(texts).register(dynamic);
    let builder = builder.register(parent).register(charge).register(text);
    builder.register(amount).register(boxed)
}

#[tokio::test]
async fn an_error_converts_with_the_question_mark_and_keeps_its_type() {
    let (runtime, client) = node(builder()).await;
    let declined = client.start(order, "declined", 7).await.unwrap().result().await;
    let pay = CallError::App(PayError::Declined { code: 7 });
    assert_eq!(declined, Err(CallError::App(OrderError::Pay(pay))));
    let down = client.start(order, "down", 0).await.unwrap().result().await;
    assert_eq!(down, Err(CallError::App(OrderError::Pay(CallError::App(PayError::Down)))));
    let child = client.start(parent, "parent", 9).await.unwrap().result().await;
    assert_eq!(child, Err(CallError::App(OrderError::Text("child: 9".to_owned()))));
    runtime.shutdown(None).await;
}

#[tokio::test]
async fn a_panic_of_an_activity_is_not_an_error_of_its_type() {
    let (runtime, client) = node(builder()).await;
    let panicked = client.start(order, "panicked", 1).await.unwrap().result().await;
    match panicked {
        Err(CallError::App(OrderError::Pay(CallError::Infrastructure { message }))) => {
            assert!(message.contains("a broken card reader"), "{message}");
        }
        other => panic!("{other:?}"),
    }
    runtime.shutdown(None).await;
}

#[tokio::test]
async fn texts_are_stored_as_they_are() {
    let (runtime, client) = node(builder()).await;
    // Some look like texts of the runtime, or like JSON: they arrive all the same.
    let texts_said = ["no", "", "canceled: no", "timeout: activity timed out", "'quoted'", "7"];
    for (n, said) in texts_said.into_iter().enumerate() {
        let instance = client.start(texts, format!("text-{n}"), said).await.unwrap();
        let failed = instance.result().await;
        let text = said.replace('\'', "\"");
        assert_eq!(failed, Err(CallError::App(OrderError::Text(text))));
    }
    let failed = client.get_orchestration_status("text-0").await.unwrap();
    let OrchestrationStatus::Failed { details, .. } = failed else { panic!("{failed:?}") };
    let text = details.display_message();
    assert!(text.starts_with("no\n"), "people read the text first: {text}");
    runtime.shutdown(None).await;
}

#[tokio::test]
async fn errors_without_a_type_are_their_text() {
    let (runtime, client) = node(builder()).await;
    let paid = client.start(dynamic, "paid", "12").await.unwrap().result().await;
    assert_eq!(paid.unwrap(), 12);
    let failed = client.start(dynamic, "failed", "twelve").await.unwrap().result().await;
    let text = failed.unwrap_err().to_string();
    assert_eq!(text, "cannot pay: 'twelve' is no amount: invalid digit found in string");
    let untyped = client.get_orchestration_status("failed").await.unwrap();
    let OrchestrationStatus::Failed { details, .. } = untyped else { panic!("{untyped:?}") };
    assert_eq!(details.display_message(), text, "the stored text is the text alone");
    runtime.shutdown(None).await;
}

#[tokio::test]
async fn an_error_of_code_without_types_is_infrastructure_for_typed_callers() {
    let fails = |_ctx: OrchestrationContext, _input: String| async move {
        Err::<String, String>("written by hand".to_owned())
    };
    let orchestrations = OrchestrationRegistry::builder().register("order", fails).build();
    let builder = DuroxideRuntime::builder().with_orchestrations(orchestrations);
    let (runtime, client) = node(builder).await;
    client.start_orchestration("by-hand", "order", "1").await.unwrap();
    let failed = client.attach(order, "by-hand").result().await;
    let message = "written by hand".to_owned();
    assert_eq!(failed, Err(CallError::Infrastructure { message }));
    runtime.shutdown(None).await;
}
