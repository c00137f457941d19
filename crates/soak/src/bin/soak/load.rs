//! Starts workflows, sends them what they wait for, and compares their results.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use duroxide::{Client, ClientError, OrchestrationStatus};
use tokio::task::JoinSet;

use crate::acks::{Ack, Journal};
use crate::doubt::Doubt;
use crate::kinds::{Kind, Wanted, Workflow};
use crate::rng::Rng;

/// A workflow that takes longer is stuck: far above all leases, pauses and attempts together.
const OPEN_TIME_MAX: Duration = Duration::from_secs(120);
/// Pause between two tries of a call that failed.
const RETRY_PAUSE: Duration = Duration::from_millis(100);
/// How often a call that failed for a transient reason is retried.
const TRIES_MAX: u32 = 200;
/// Wrong results that are listed.
const LISTED_MAX: usize = 20;

/// What was started, by kind.
pub(crate) type Started = BTreeMap<Kind, u64>;

/// Which workflows to start.
pub(crate) struct Load<'a> {
    pub(crate) seed: u64,
    pub(crate) kinds: &'a [Kind],
    /// Number of the first workflow.
    pub(crate) first: u64,
    /// Workflows that are open at once.
    pub(crate) open_max: usize,
}

/// Starts workflows while `goes_on` for the next number, and waits for all of them.
pub(crate) async fn run(
    conductor: &Conductor,
    load: &Load<'_>,
    mut goes_on: impl FnMut(u64) -> bool,
) -> Result<Started, String> {
    let mut rng = Rng::new(load.seed);
    let mut started = Started::new();
    let mut open = JoinSet::new();
    let wrong = Arc::new(Mutex::new(Vec::new()));
    let mut number = load.first;
    while goes_on(number) {
        while open.len() >= load.open_max {
            open.join_next().await;
        }
        let chosen = usize::try_from(rng.below(load.kinds.len() as u64)).unwrap_or(0);
        let workflow = Workflow { kind: load.kinds[chosen], number };
        *started.entry(workflow.kind).or_default() += 1;
        let (conductor, wrong) = (conductor.clone(), Arc::clone(&wrong));
        open.spawn(async move {
            if let Err(reason) = conductor.conduct(workflow).await {
                let mut wrong = wrong.lock().unwrap_or_else(PoisonError::into_inner);
                wrong.push(format!("{}: {reason}", workflow.id()));
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

/// Plays the part of the clients.
#[derive(Clone)]
pub(crate) struct Conductor {
    pub(crate) client: Client,
    /// Pause between two polls. Not a watch: each commit of another process would wake all of
    /// them.
    pub(crate) poll: Duration,
    pub(crate) journal: Journal,
    /// Whether a call that fails may have had its effect.
    pub(crate) doubt: Doubt,
}

impl Conductor {
    /// Starts a workflow and completes it.
    pub(crate) async fn conduct(&self, workflow: Workflow) -> Result<(), String> {
        let Workflow { kind, number } = workflow;
        let start = || {
            let (id, input) = (workflow.id(), kind.input(number));
            self.client.start_orchestration(id, kind.name(), input)
        };
        insist(start).await?;
        self.journal.note(&Ack::Started(workflow))?;
        self.complete(workflow, &BTreeSet::new()).await
    }

    /// Sends what a started workflow waits for, except the texts that its store has already, and
    /// compares its result.
    pub(crate) async fn complete(
        &self,
        workflow: Workflow,
        sent: &BTreeSet<String>,
    ) -> Result<(), String> {
        self.play_outside(workflow, sent).await?;
        let came_to = match self.until(&workflow.id(), is_over).await? {
            OrchestrationStatus::Completed { output, .. } => Wanted::Output(output),
            OrchestrationStatus::Failed { details, .. } => {
                Wanted::Failure(details.display_message())
            }
            status @ (OrchestrationStatus::NotFound | OrchestrationStatus::Running { .. }) => {
                return Err(format!("{status:?}"));
            }
        };
        let wanted = workflow.kind.wanted(workflow.number);
        if came_to != wanted {
            return Err(format!("{came_to:?} instead of {wanted:?}"));
        }
        self.journal.note(&Ack::Finished(workflow))
    }

    async fn play_outside(
        &self,
        workflow: Workflow,
        sent: &BTreeSet<String>,
    ) -> Result<(), String> {
        let id = workflow.id();
        for (number, text) in workflow.sent_texts().iter().enumerate() {
            if sent.contains(text) {
                continue;
            }
            // The first message of a queue may arrive before the instance starts.
            if number > 0 || workflow.kind == Kind::Cancelled {
                self.until(&id, is_known).await?;
            }
            self.send_once(workflow.kind, &id, text).await?;
            self.journal.note(&Ack::Sent(workflow, text.clone()))?;
        }
        Ok(())
    }

    /// Sends a text again only if the store does not have it: a message that is sent twice arrives
    /// twice.
    async fn send_once(&self, kind: Kind, id: &str, text: &str) -> Result<(), String> {
        let mut tries = 0;
        loop {
            match self.send(kind, id, text).await {
                Ok(()) => return Ok(()),
                Err(error) if error.is_retryable() && tries < TRIES_MAX => {
                    tries += 1;
                    tokio::time::sleep(RETRY_PAUSE).await;
                    if self.doubt.was_sent(id, text).await? {
                        return Ok(());
                    }
                }
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    async fn send(&self, kind: Kind, id: &str, text: &str) -> Result<(), ClientError> {
        if kind == Kind::Cancelled {
            self.client.cancel_instance(id, text).await
        } else if text.starts_with("go-") {
            self.client.raise_event(id, "Go", text).await
        } else {
            self.client.enqueue_event(id, "inbox", text).await
        }
    }

    /// Polls until the status is as wanted.
    async fn until(
        &self,
        id: &str,
        wanted: impl Fn(&OrchestrationStatus) -> bool,
    ) -> Result<OrchestrationStatus, String> {
        let began = Instant::now();
        loop {
            let status = insist(|| self.client.get_orchestration_status(id)).await?;
            if wanted(&status) {
                return Ok(status);
            }
            if began.elapsed() > OPEN_TIME_MAX {
                return Err(format!("stuck for {OPEN_TIME_MAX:?}: {status:?}"));
            }
            tokio::time::sleep(self.poll).await;
        }
    }
}

fn is_known(status: &OrchestrationStatus) -> bool {
    !matches!(status, OrchestrationStatus::NotFound)
}

fn is_over(status: &OrchestrationStatus) -> bool {
    matches!(status, OrchestrationStatus::Completed { .. } | OrchestrationStatus::Failed { .. })
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
                tokio::time::sleep(RETRY_PAUSE).await;
            }
            Err(error) => return Err(error.to_string()),
        }
    }
}
