//! Runs a handler until it ends or nobody wants it any more.

use std::sync::Arc;

use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::finished::Finished;
use super::guarded::{Guarded, describe};
use super::process::{InHand, Work};
use super::report;
use crate::client::Client;
use crate::clock::millis;
use crate::panics::Payload;
use crate::runtime::activity_context::ActivityFields;
use crate::runtime::progress::ProgressReporter;
use crate::runtime::start_facts::StartFacts;
use crate::runtime::{ActivityContext, ActivityHandler};

/// Name and version of an instance that has no start event.
const UNKNOWN: &str = "unknown";

/// How a handler ended.
pub(super) enum Outcome {
    Returned(Result<String, String>),
    /// With the text of the panic.
    Panicked(String),
    /// Nobody wants the result.
    Cancelled,
}

/// Runs the handler; `None` if nobody is to be told what it came to.
pub(super) async fn run(
    in_hand: InHand,
    mut work: Work,
    handler: Arc<dyn ActivityHandler>,
) -> Option<Finished> {
    let began = Instant::now();
    // Fired by others, so that code that does not yield sees it too. A child: what the code does to
    // its own token must not look like a cancellation.
    let unwanted = in_hand.registered.unwanted.clone();
    let context = context(&in_hand, &work, unwanted.child_token()).await;
    let input = std::mem::take(&mut work.input);
    let mut code = Guarded::new(async move { handler.invoke(context, input).await });
    let outcome = tokio::select! {
        biased;
        ended = &mut code => match outcome_of(ended) {
            // It was told and has ended before we got round to it.
            _discarded if unwanted.is_cancelled() => Outcome::Cancelled,
            wanted => wanted,
        },
        () = unwanted.cancelled() => {
            let grace = in_hand.node.options.activity_cancellation_grace_period;
            match timeout(grace, &mut code).await {
                Ok(ended) => drop(outcome_of(ended)),
                Err(_elapsed) => debug!(
                    target: "duroxide::runtime",
                    instance_id = %work.id.instance,
                    activity_name = %work.name,
                    activity_id = work.id.activity_id,
                    "cancelled activity did not end within its grace and was aborted"
                ),
            }
            Outcome::Cancelled
        }
    };
    drop(code);
    let elapsed = began.elapsed();
    in_hand.node.pace.note(&work.name, elapsed);
    in_hand.node.metrics().record_worker_dispatcher_execution_duration(millis(elapsed));
    report::judge(in_hand, work, outcome, elapsed)
}

fn outcome_of(ended: Result<Result<String, String>, Payload>) -> Outcome {
    match ended {
        Ok(result) => Outcome::Returned(result),
        Err(panic) => Outcome::Panicked(describe(panic)),
    }
}

async fn context(
    in_hand: &InHand,
    work: &Work,
    cancellation: CancellationToken,
) -> ActivityContext {
    let node = &in_hand.node;
    let facts = match node.warm.facts(&work.id.instance) {
        Some(facts) => Some(facts),
        None => read_facts(in_hand, &work.id.instance).await.map(Arc::new),
    };
    let (name, version) = facts
        .as_ref()
        .map_or((UNKNOWN, UNKNOWN), |facts| (facts.name.as_str(), facts.version.as_str()));
    ActivityContext::new(ActivityFields {
        instance_id: work.id.instance.clone(),
        execution_id: work.id.execution_id,
        orchestration_name: name.to_owned(),
        orchestration_version: version.to_owned(),
        activity_name: work.name.clone(),
        activity_id: work.id.activity_id,
        attempt: in_hand.attempt_count,
        worker_id: in_hand.worker_id.clone(),
        session_id: work.session_id.clone(),
        tag: work.tag.clone(),
        last_progress: in_hand.progress.clone(),
        reporter: ProgressReporter::new(
            Arc::clone(&node.provider),
            in_hand.lock_token.clone(),
            node.options.worker_lock_timeout,
        ),
        cancellation,
        client: Client::new(Arc::clone(&node.provider)),
    })
}

async fn read_facts(in_hand: &InHand, instance: &str) -> Option<StartFacts> {
    match in_hand.node.provider.read_start_event(instance).await {
        Ok(start) => start.as_ref().and_then(StartFacts::of),
        Err(error) => {
            debug!(
                target: "duroxide::runtime",
                instance_id = instance, %error,
                "the orchestration of an activity cannot be read; it shows as unknown"
            );
            None
        }
    }
}
