//! The cases: what exists before the node starts, and what it does then.

use std::path::Path;
use std::time::Duration;

use duroxide::Client;
use duroxide::runtime::OrchestrationStatus;
use futures_util::stream::{self, StreamExt, TryStreamExt};

use super::store::{Node, Store, text};
use super::workflows::INBOX;

/// Longer than any case takes.
const WAIT_MAX: Duration = Duration::from_secs(1_800);
const STATUS_POLL: Duration = Duration::from_millis(20);

/// Calls of clients at a time.
const AT_ONCE: usize = 64;

/// Events of one long history, made by half as many activities.
const LONG_ACTIVITIES: u64 = 50_000;
/// Long instances that are prepared at a time.
const LONG_AT_ONCE: usize = 4;

/// What is large.
#[derive(Debug, Clone, Copy)]
pub(super) enum Case {
    /// `size` queue messages wait for one instance.
    Messages,
    /// `size` instances of 100,000 events each continue after a restart.
    Restart,
    /// `size` instances hold a result of 1 MB each while they wait.
    Results,
    /// One turn starts `size` children.
    Children,
    /// One turn schedules `size` activities on one session.
    Session,
    /// One turn records `size` events.
    Turn,
}

impl Case {
    const ALL: [Self; 6] =
        [Self::Messages, Self::Restart, Self::Results, Self::Children, Self::Session, Self::Turn];

    /// The case of this name.
    pub(super) fn named(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|case| case.name() == name);
        found.ok_or_else(|| format!("no case {name}"))
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Messages => "messages",
            Self::Restart => "restart",
            Self::Results => "results",
            Self::Children => "children",
            Self::Session => "session",
            Self::Turn => "turn",
        }
    }

    /// Makes what exists before the node starts.
    pub(super) async fn prepare(
        self,
        store: Store,
        folder: &Path,
        size: u64,
    ) -> Result<(), String> {
        match self {
            Self::Messages => {
                let client = Client::new(store.open(folder, None).await?);
                start(&client, "one", "drain", size).await?;
                for_each(0..size, AT_ONCE, |number| send(&client, "one", number)).await
            }
            Self::Restart => {
                let node = store.node(folder, None).await?;
                let client = node.client();
                for_each(0..size, LONG_AT_ONCE, |number| {
                    until_it_waits(&client, number, "long", LONG_ACTIVITIES)
                })
                .await?;
                node.stop().await;
                Ok(())
            }
            Self::Results | Self::Children | Self::Session | Self::Turn => Ok(()),
        }
    }

    /// Runs the case to its end.
    pub(super) async fn run(self, node: &Node, size: u64) -> Result<(), String> {
        let client = &node.client();
        match self {
            Self::Messages => completed(client, "one").await,
            Self::Restart => release_all(client, size).await,
            Self::Results => {
                for_each(0..size, AT_ONCE, |number| {
                    until_it_waits(client, number, "large_result", 0)
                })
                .await?;
                release_all(client, size).await
            }
            Self::Children => {
                start(client, "one", "parent", size).await?;
                completed(client, "one").await
            }
            Self::Session => {
                start(client, "one", "session", size).await?;
                completed(client, "one").await
            }
            Self::Turn => {
                start(client, "one", "turn", size).await?;
                completed(client, "one").await
            }
        }
    }
}

/// Waits until an instance has completed; an error if it failed.
pub(super) async fn completed(client: &Client, id: &str) -> Result<(), String> {
    match client.wait_for_orchestration(id, WAIT_MAX).await.map_err(text)? {
        OrchestrationStatus::Completed { .. } => Ok(()),
        other => Err(format!("{id}: {other:?}")),
    }
}

async fn start(client: &Client, id: &str, name: &str, input: u64) -> Result<(), String> {
    client.start_orchestration(id, name, input.to_string()).await.map_err(text)
}

async fn send(client: &Client, id: &str, number: u64) -> Result<(), String> {
    client.enqueue_event(id, INBOX, number.to_string()).await.map_err(text)
}

async fn until_it_waits(
    client: &Client,
    number: u64,
    name: &str,
    input: u64,
) -> Result<(), String> {
    let id = format!("i-{number}");
    start(client, &id, name, input).await?;
    let waits = client.wait_for_status_change(&id, 0, STATUS_POLL, WAIT_MAX).await;
    waits.map(drop).map_err(text)
}

async fn release_all(client: &Client, size: u64) -> Result<(), String> {
    for_each(
        0..size,
        AT_ONCE,
        |number| async move { send(client, &format!("i-{number}"), 0).await },
    )
    .await?;
    for number in 0..size {
        completed(client, &format!("i-{number}")).await?;
    }
    Ok(())
}

async fn for_each<F: Future<Output = Result<(), String>>>(
    numbers: std::ops::Range<u64>,
    at_once: usize,
    call: impl Fn(u64) -> F,
) -> Result<(), String> {
    stream::iter(numbers).map(call).buffer_unordered(at_once).try_collect().await
}
