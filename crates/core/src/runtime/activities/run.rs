//! Runs a handler until it returns or its result is unwanted.

use std::sync::Arc;

use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, debug};

use super::guarded::{Guarded, describe};
use super::leased_activity::{LeasedActivity, Work};
use super::{Ended, report, spans};
use crate::client::Client;
use crate::clock::millis;
use crate::panics::Payload;
use crate::runtime::activity_context::ActivityFields;
use crate::runtime::progress::ProgressReporter;
use crate::runtime::start_facts::StartFacts;
use crate::runtime::storage_retry::retry_while_leased;
use crate::runtime::{ActivityContext, ActivityHandler};

/// Name and version of an instance that has no start event.
const UNKNOWN: &str = "unknown";

/// The outcome of a handler.
pub(super) enum Outcome {
    Returned(Result<String, String>),
    /// With the text of the panic.
    Panicked(String),
    /// The result is unwanted: a turn cancelled the activity, or its lease is lost.
    Cancelled,
}

/// Runs the handler.
pub(super) async fn run(
    leased: LeasedActivity,
    mut work: Work,
    handler: Arc<dyn ActivityHandler>,
) -> Ended {
    let started = Instant::now();
    // Other tasks cancel this token, so a handler that does not yield sees the cancellation too.
    // The handler gets a child: a handler that cancels its own token does not cancel the activity.
    let unwanted = leased.registered.unwanted.clone();
    let context = context(&leased, &work, unwanted.child_token()).await;
    let span = spans::activity(&context);
    let input = std::mem::take(&mut work.input);
    let invoked = async move { handler.invoke(context, input).await };
    let mut code = Guarded::new(invoked.instrument(span.clone()));
    let outcome = tokio::select! {
        biased;
        returned = &mut code => match outcome_of(returned) {
            // The handler saw the cancellation and returned before this task noticed it.
            _discarded if unwanted.is_cancelled() => Outcome::Cancelled,
            wanted => wanted,
        },
        () = unwanted.cancelled() => {
            let grace = leased.node().options.activity_cancellation_grace_period;
            match timeout(grace, &mut code).await {
                Ok(returned) => drop(outcome_of(returned)),
                Err(_elapsed) => debug!(
                    target: "duroxide::runtime",
                    instance_id = %work.id.instance,
                    activity_name = %work.name,
                    activity_id = work.id.activity_id,
                    "cancelled activity did not return within its grace period; aborting it"
                ),
            }
            Outcome::Cancelled
        }
    };
    drop(code);
    spans::record_outcome(&span, &outcome);
    let elapsed = started.elapsed();
    leased.node().metrics().record_worker_dispatcher_execution_duration(millis(elapsed));
    report::conclude(leased, work, outcome, elapsed)
}

fn outcome_of(returned: Result<Result<String, String>, Payload>) -> Outcome {
    match returned {
        Ok(result) => Outcome::Returned(result),
        Err(panic) => Outcome::Panicked(describe(panic)),
    }
}

async fn context(
    leased: &LeasedActivity,
    work: &Work,
    cancellation: CancellationToken,
) -> ActivityContext {
    let (activities, node) = (&leased.activities, leased.node());
    let facts = match activities.starts.facts(&work.id.instance) {
        Some(facts) => Some(facts),
        None => read_facts(leased, &work.id.instance).await.map(Arc::new),
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
        attempt: leased.attempt_count,
        worker_id: leased.worker_id.clone(),
        session_id: work.session_id.clone(),
        tag: work.tag.clone(),
        last_progress: leased.progress.clone(),
        reporter: ProgressReporter::new(
            Arc::clone(&node.provider),
            leased.lock_token.clone(),
            node.options.worker_lock_timeout,
        ),
        cancellation,
        client: Client::new(Arc::clone(&node.provider)),
    })
}

async fn read_facts(leased: &LeasedActivity, instance: &str) -> Option<StartFacts> {
    let start = || leased.node().provider.read_start_event(instance);
    match retry_while_leased("read_start_event", &leased.lease, start).await {
        Ok(start) => start.as_ref().and_then(StartFacts::of),
        Err(error) => {
            debug!(
                target: "duroxide::runtime",
                instance_id = instance, %error,
                "could not read the orchestration of an activity; the activity sees it as unknown"
            );
            None
        }
    }
}
