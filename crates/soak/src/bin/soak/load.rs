//! Starts workflows, sends them what they wait for, and compares their results.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use duroxide::{Client, ClientError, OrchestrationStatus};
use tokio::task::JoinSet;

use crate::kinds::{KINDS, Kind, MESSAGES, Wanted};
use crate::rng::Rng;

/// Workflows that are open at once.
const OPEN_MAX: usize = 60;
/// A workflow that takes longer is stuck: far above all leases, pauses and attempts together.
const OPEN_TIME_MAX: Duration = Duration::from_secs(120);
/// Pause between two polls. Not a watch: each commit of another process would wake all of them.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// How often a call that failed for a transient reason is retried.
const TRIES_MAX: u32 = 200;
/// Wrong results that are listed.
const LISTED_MAX: usize = 20;

/// What was started, by kind.
pub(crate) type Started = BTreeMap<Kind, u64>;

/// Starts workflows for `time` and waits for all of them.
pub(crate) async fn run(client: &Client, seed: u64, time: Duration) -> Result<Started, String> {
    let mut rng = Rng::new(seed);
    let began = Instant::now();
    let mut started = Started::new();
    let mut open = JoinSet::new();
    let wrong = Arc::new(Mutex::new(Vec::new()));
    let mut number = 0;
    while began.elapsed() < time {
        while open.len() >= OPEN_MAX {
            open.join_next().await;
        }
        let kind = KINDS[usize::try_from(rng.below(KINDS.len() as u64)).unwrap_or(0)];
        *started.entry(kind).or_default() += 1;
        let (client, wrong) = (client.clone(), Arc::clone(&wrong));
        open.spawn(async move {
            if let Err(reason) = one(&client, kind, number).await {
                let mut wrong = wrong.lock().unwrap_or_else(PoisonError::into_inner);
                wrong.push(format!("{}: {reason}", instance(kind, number)));
            }
        });
        number += 1;
    }
    while let Some(ended) = open.join_next().await {
        ended.map_err(|error| error.to_string())?;
    }
    let wrong = wrong.lock().unwrap_or_else(PoisonError::into_inner);
    if wrong.is_empty() {
        return Ok(started);
    }
    let listed: Vec<&str> = wrong.iter().take(LISTED_MAX).map(String::as_str).collect();
    Err(format!("{} workflows went wrong:\n{}", wrong.len(), listed.join("\n")))
}

fn instance(kind: Kind, number: u64) -> String {
    format!("{}-{number}", kind.name())
}

async fn one(client: &Client, kind: Kind, number: u64) -> Result<(), String> {
    let id = instance(kind, number);
    insist(|| client.start_orchestration(&id, kind.name(), kind.input(number))).await?;
    play_outside(client, kind, number, &id).await?;
    let status = until(client, &id, is_over).await?;
    let came_to = match status {
        OrchestrationStatus::Completed { output, .. } => Wanted::Output(output),
        OrchestrationStatus::Failed { details, .. } => Wanted::Failure(details.display_message()),
        OrchestrationStatus::NotFound | OrchestrationStatus::Running { .. } => {
            return Err(format!("{status:?}"));
        }
    };
    let wanted = kind.wanted(number);
    if came_to == wanted { Ok(()) } else { Err(format!("{came_to:?} instead of {wanted:?}")) }
}

async fn play_outside(client: &Client, kind: Kind, number: u64, id: &str) -> Result<(), String> {
    match kind {
        Kind::Events => {
            for message in 0..MESSAGES {
                // Messages that arrive before the instance starts wait for it.
                if message == 1 {
                    until(client, id, is_running).await?;
                    insist(|| client.raise_event(id, "Go", format!("go-{number}"))).await?;
                }
                insist(|| client.enqueue_event(id, "inbox", format!("m{message}"))).await?;
            }
            Ok(())
        }
        Kind::Cancelled => {
            until(client, id, is_running).await?;
            insist(|| client.cancel_instance(id, "enough")).await
        }
        Kind::Chain
        | Kind::Fan
        | Kind::Timer
        | Kind::Family
        | Kind::Session
        | Kind::Race
        | Kind::Leaves
        | Kind::Moves
        | Kind::Again
        | Kind::Slow
        | Kind::Fails
        | Kind::Orphan => Ok(()),
    }
}

fn is_running(status: &OrchestrationStatus) -> bool {
    matches!(status, OrchestrationStatus::Running { .. })
}

fn is_over(status: &OrchestrationStatus) -> bool {
    matches!(status, OrchestrationStatus::Completed { .. } | OrchestrationStatus::Failed { .. })
}

/// Polls until the status is as wanted.
async fn until(
    client: &Client,
    id: &str,
    wanted: impl Fn(&OrchestrationStatus) -> bool,
) -> Result<OrchestrationStatus, String> {
    let began = Instant::now();
    loop {
        let status = insist(|| client.get_orchestration_status(id)).await?;
        if wanted(&status) {
            return Ok(status);
        }
        if began.elapsed() > OPEN_TIME_MAX {
            return Err(format!("stuck for {OPEN_TIME_MAX:?}: {status:?}"));
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Retries a call that fails for a transient reason, as a program would.
async fn insist<T, F>(mut call: impl FnMut() -> F) -> Result<T, String>
where
    F: Future<Output = Result<T, ClientError>>,
{
    let mut tries = 0;
    loop {
        match call().await {
            Ok(done) => return Ok(done),
            Err(error) if error.is_retryable() && tries < TRIES_MAX => {
                tries += 1;
                tokio::time::sleep(POLL_INTERVAL).await;
            }
            Err(error) => return Err(error.to_string()),
        }
    }
}
