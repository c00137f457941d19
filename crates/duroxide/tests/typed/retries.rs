//! Retries that fit: hints of errors, deadlines, timeouts that are retried.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use duroxide::prelude::*;
use serde::{Deserialize, Serialize};

use crate::support::node;

#[derive(Debug, Clone, PartialEq, thiserror::Error, Serialize, Deserialize)]
enum CallFailed {
    #[error("failed in attempt {0}")]
    Passing(u32),
    #[error("never works")]
    Final,
    #[error("busy")]
    Busy,
}

impl Retryable for CallFailed {
    fn retry_hint(&self) -> RetryHint {
        match self {
            Self::Passing(_) => RetryHint::Policy,
            Self::Final => RetryHint::Never,
            Self::Busy => RetryHint::After(BUSY),
        }
    }
}

const BUSY: Duration = Duration::from_millis(60);

/// Counts the attempts of each instance.
#[derive(Default)]
struct Service {
    attempts: Mutex<HashMap<String, u32>>,
    stuck: AtomicU32,
}

#[activity]
impl Service {
    #[activity(retry(attempts = 3, fixed = "1ms", jitter = 0.5))]
    async fn attempt(&self, ctx: ActivityContext, want: String) -> Result<u32, CallFailed> {
        let instance = ctx.instance_id().to_owned();
        let attempt = {
            let mut attempts = self.attempts.lock().unwrap();
            let attempt = attempts.entry(instance).or_default();
            *attempt += 1;
            *attempt
        };
        match want.as_str() {
            "third" if attempt == 3 => Ok(attempt),
            "final" if attempt == 2 => Err(CallFailed::Final),
            "busy" if attempt == 1 => Err(CallFailed::Busy),
            "busy" => Ok(attempt),
            _ => Err(CallFailed::Passing(attempt)),
        }
    }

    #[activity(timeout = "20ms")]
    async fn stuck(&self, _ctx: ActivityContext) -> Result<(), String> {
        self.stuck.fetch_add(1, Ordering::SeqCst);
        std::future::pending().await
    }
}

#[orchestration]
async fn attempt(ctx: OrchestrationContext, want: String) -> Result<u32, String> {
    let outcome = ctx.call(Service::attempt, want).await;
    outcome.map_err(|error| format!("{error:?}"))
}

#[orchestration]
async fn deadline(ctx: OrchestrationContext) -> Result<(u32, bool), String> {
    let deadline = Duration::from_millis(80);
    let retry = Retry::unlimited().with_fixed_backoff(Duration::from_millis(1));
    let call = ctx.call(Service::attempt, "never").with_retry(retry.with_deadline(deadline));
    match call.await {
        Err(CallError::Exhausted { last: CallFailed::Passing(n), attempts }) => {
            Ok((attempts, n <= attempts))
        }
        other => Err(format!("{other:?}")),
    }
}

#[orchestration]
async fn stuck(ctx: OrchestrationContext, attempts: u32) -> Result<(), String> {
    let call = ctx.call(Service::stuck, ());
    let retry = Retry::new(attempts).with_fixed_backoff(Duration::from_millis(1));
    let outcome = match attempts {
        0 => call.await,
        1 => call.with_retry(Retry::new(5)).await,
        _ => call.with_retry(retry.with_timeouts_retried()).await,
    };
    match outcome {
        Err(CallError::TimedOut) => Ok(()),
        other => Err(format!("{other:?}")),
    }
}

async fn service() -> (Arc<Runtime>, Client, Arc<Service>) {
    let service = Arc::new(Service::default());
    let builder = DuroxideRuntime::builder().register(attempt).register(deadline).register(stuck);
    let grace = Duration::from_millis(1);
    let options =
        RuntimeOptions { activity_cancellation_grace_period: grace, ..Default::default() };
    let builder = builder.register_state(Arc::clone(&service)).with_options(options);
    let (runtime, client) = node(builder).await;
    (runtime, client, service)
}

#[tokio::test]
async fn a_policy_repeats_a_call_until_it_succeeds_or_is_exhausted() {
    let (runtime, client, _service) = service().await;
    let third = client.start(attempt, "third", "third").await.unwrap().result().await;
    assert_eq!(third, Ok(3));
    let never = client.start(attempt, "never", "never").await.unwrap().result().await;
    let text = "Exhausted { last: Passing(3), attempts: 3 }".to_owned();
    assert_eq!(never, Err(CallError::App(text)));
    runtime.shutdown(None).await;
}

#[tokio::test]
async fn an_error_that_is_final_ends_the_attempts() {
    let (runtime, client, service) = service().await;
    let ended = client.start(attempt, "final", "final").await.unwrap().result().await;
    assert_eq!(ended, Err(CallError::App("App(Final)".to_owned())));
    assert_eq!(service.attempts.lock().unwrap()["final"], 2);
    runtime.shutdown(None).await;
}

#[tokio::test]
async fn an_error_can_lengthen_the_pause() {
    let (runtime, client, _service) = service().await;
    let started = Instant::now();
    let waited = client.start(attempt, "busy", "busy").await.unwrap().result().await;
    assert_eq!(waited, Ok(2));
    assert!(started.elapsed() >= BUSY, "{:?}", started.elapsed());
    runtime.shutdown(None).await;
}

#[tokio::test]
async fn a_deadline_ends_attempts_without_number() {
    let (runtime, client, service) = service().await;
    let (attempts, is_last) =
        client.start(deadline, "deadline", ()).await.unwrap().result().await.unwrap();
    assert!(is_last);
    // The attempt that the deadline interrupted may have run or not.
    let seen = service.attempts.lock().unwrap()["deadline"];
    assert!((attempts - 1..=attempts).contains(&seen), "{attempts} and {seen}");
    runtime.shutdown(None).await;
}

#[tokio::test]
async fn a_timeout_ends_the_call_unless_it_is_to_be_retried() {
    let (runtime, client, _service) = service().await;
    for attempts in [0, 1, 3] {
        let id = format!("stuck-{attempts}");
        client.start(stuck, id.as_str(), attempts).await.unwrap().result().await.unwrap();
        let history = client.read_execution_history(&id, 1).await.unwrap();
        let scheduled =
            history.iter().filter(|event| event.kind.type_tag() == "ActivityScheduled").count();
        assert_eq!(scheduled, if attempts == 3 { 3 } else { 1 }, "{attempts}");
    }
    runtime.shutdown(Some(0)).await;
}
