//! Finding orders and following one to its end.

use std::error::Error;
use std::time::Duration;

use duroxide::{Client, INITIAL_EXECUTION_ID, OrchestrationStatus};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, timeout};

use super::args::Args;
use super::show::{self, Teller};
use super::workflow::{APPROVAL, ORCHESTRATION, Order};

/// How often the history is looked at for new lines, at least.
const LOOK: Duration = Duration::from_millis(50);

pub(crate) type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// An order and how it stands.
pub(crate) struct Found {
    pub(crate) id: String,
    pub(crate) status: OrchestrationStatus,
}

/// All orders, oldest first. The last one is not started yet: it is the next to come.
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

/// The order that is not finished, or the next to come.
pub(crate) async fn open(client: &Client) -> Outcome<Found> {
    let orders = all(client).await?;
    let open = orders.into_iter().find(|order| {
        matches!(order.status, OrchestrationStatus::NotFound | OrchestrationStatus::Running { .. })
    });
    open.ok_or_else(|| "the list of orders has no end".into())
}

/// Begins an order. Asking twice is harmless: an order that exists is left alone.
pub(crate) async fn begin(client: &Client, id: &str, args: &Args) -> Outcome<()> {
    let order = Order {
        item: "a chair".to_owned(),
        place: args.place.clone(),
        pace: args.pace,
        patience: args.patience,
    };
    Ok(client.start_orchestration_typed(id, ORCHESTRATION, order).await?)
}

/// Shows an order until it ends, and answers its question if that was asked for.
pub(crate) async fn follow(
    client: &Client,
    id: &str,
    args: &Args,
    begun: &mut UnboundedReceiver<String>,
) -> Outcome<String> {
    let mut teller = Teller::default();
    let before = client.read_execution_history(id, INITIAL_EXECUTION_ID).await?;
    teller.tell(&before, "remembered");
    let mut asked_at = None;
    loop {
        let begins = timeout(LOOK, begun.recv()).await.ok().flatten();
        let status = client.get_orchestration_status(id).await?;
        let history = client.read_execution_history(id, INITIAL_EXECUTION_ID).await?;
        teller.tell(&history, "recorded");
        if let Some(activity) = begins {
            show::line("runs now", &activity, "");
        }
        if matches!(
            status,
            OrchestrationStatus::Completed { .. } | OrchestrationStatus::Failed { .. }
        ) {
            return Ok(show::status(&status));
        }
        asked_at = teller.asks_for_approval.then(|| asked_at.unwrap_or_else(Instant::now));
        let thought = asked_at.is_some_and(|at| at.elapsed() >= args.pace * 3);
        if let (true, Some(answer)) = (thought, args.answer) {
            // Any process may send this; `quickstart -- approve` does the same.
            client.raise_event(id, APPROVAL, answer.as_str()).await?;
            asked_at = None;
        }
    }
}
