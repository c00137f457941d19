//! Finds orders and follows one until it completes.

use std::error::Error;
use std::time::Duration;

use duroxide::{Client, INITIAL_EXECUTION_ID, OrchestrationStatus};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, timeout};

use super::args::Args;
use super::show::{self, Progress};
use super::workflow::{self, APPROVAL, Order};

/// Longest time between two reads of the history.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

pub(crate) type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// An order and its status.
pub(crate) struct Found {
    pub(crate) id: String,
    pub(crate) status: OrchestrationStatus,
}

/// All orders, oldest first. The last one has not started: it is the next.
pub(crate) async fn all(client: &Client) -> Outcome<Vec<Found>> {
    let mut orders = Vec::new();
    loop {
        let id = format!("order-{}", orders.len() + 1);
        let status = client.get_orchestration_status(&id).await?;
        let is_last = status == OrchestrationStatus::NotFound;
        orders.push(Found { id, status });
        if is_last {
            return Ok(orders);
        }
    }
}

/// The order that has not completed, or the next one.
pub(crate) async fn open(client: &Client) -> Outcome<Found> {
    let orders = all(client).await?;
    let open = orders.into_iter().find(|order| {
        matches!(order.status, OrchestrationStatus::NotFound | OrchestrationStatus::Running { .. })
    });
    open.ok_or_else(|| "the list of orders has no end".into())
}

/// Starts an order. A second call is harmless: an order that exists does not change.
pub(crate) async fn start(client: &Client, id: &str, args: &Args) -> Outcome<()> {
    let order = Order {
        item: "a chair".to_owned(),
        place: args.place.clone(),
        pace: args.pace,
        patience: args.patience,
    };
    client.start(workflow::order, id, order).await?;
    Ok(())
}

/// Shows an order until it completes, and sends the approval if the program is to do so.
pub(crate) async fn follow(
    client: &Client,
    id: &str,
    args: &Args,
    started: &mut UnboundedReceiver<String>,
) -> Outcome<String> {
    let mut progress = Progress::default();
    let before = client.read_execution_history(id, INITIAL_EXECUTION_ID).await?;
    progress.show(&before, "remembered");
    let mut asked_at = None;
    loop {
        let running = timeout(POLL_INTERVAL, started.recv()).await.ok().flatten();
        let status = client.get_orchestration_status(id).await?;
        let history = client.read_execution_history(id, INITIAL_EXECUTION_ID).await?;
        progress.show(&history, "recorded");
        if let Some(activity) = running {
            show::line("runs now", &activity, "");
        }
        if matches!(
            status,
            OrchestrationStatus::Completed { .. } | OrchestrationStatus::Failed { .. }
        ) {
            return Ok(show::status(&status));
        }
        asked_at = progress.asks_for_approval.then(|| asked_at.unwrap_or_else(Instant::now));
        let waited = asked_at.is_some_and(|at| at.elapsed() >= args.pace * 3);
        if let (true, Some(answer)) = (waited, args.answer) {
            // Any process may send this; `quickstart -- approve` does the same.
            client.attach(workflow::order, id).raise(APPROVAL, answer.as_str()).await?;
            asked_at = None;
        }
    }
}
