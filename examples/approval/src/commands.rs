//! What the commands do. All but `serve` are clients: they only write into the store, and the
//! process that serves it does the rest.

use std::error::Error;

use duroxide::client::{StartRequest, Started};
use duroxide::prelude::*;

use crate::workflow::{DECISION, Decision, Request, approval, send};

/// How long a command waits for the outcome of a decision.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a command returns.
pub type Outcome<T> = Result<T, Box<dyn Error>>;

/// Runs requests until Ctrl-C.
///
/// # Errors
/// When the node does not start.
pub async fn serve(store: Arc<SqliteProvider>) -> Outcome<()> {
    let builder = DuroxideRuntime::builder().with_provider(store);
    let node = builder.register(approval).register(send).build().await?;
    println!("serving; Ctrl-C stops");
    tokio::signal::ctrl_c().await?;
    node.shutdown(None).await;
    Ok(())
}

/// Asks for something.
///
/// # Errors
/// When the id is in use.
pub async fn request(client: &Client, id: &str, request: &Request) -> Outcome<()> {
    match client.start_if_new(StartRequest::of(approval, id, request)?).await? {
        Started::New => println!("{id}: requested"),
        Started::Existing => return Err(format!("there is a request {id} already").into()),
    }
    Ok(())
}

/// Decides a request, and waits until the decision has taken effect.
///
/// # Errors
/// When there is no such request, or when it is decided already.
pub async fn decide(client: &Client, id: &str, decision: &Decision) -> Outcome<()> {
    let request = client.attach(approval, id);
    let is_late = request.status().await?.is_terminal();
    let line = describe(client, id).await?;
    if is_late {
        return Err(format!("too late; {line}").into());
    }
    request.raise(DECISION, decision).await?;
    match request.result_within(PATIENCE).await {
        Err(CallError::TimedOut) => println!("{id}: sent; is a process serving?"),
        _decided => println!("{}", describe(client, id).await?),
    }
    Ok(())
}

/// One line about a request.
///
/// # Errors
/// When there is no such request.
pub async fn describe(client: &Client, id: &str) -> Outcome<String> {
    // Before the status, which is `NotFound` until a node has run the first turn.
    if let Some(queued) = client.explain_unstarted(id).await? {
        return Err(queued.to_string().into());
    }
    let request = client.attach(approval, id);
    match request.status().await? {
        OrchestrationStatus::NotFound => Err(format!("there is no request {id}").into()),
        OrchestrationStatus::Running { custom_status, .. } => {
            Ok(format!("{id}: {}", custom_status.unwrap_or_default()))
        }
        OrchestrationStatus::Completed { .. } | OrchestrationStatus::Failed { .. } => {
            // It has ended, so this does not wait.
            Ok(match request.result().await {
                Ok(by) => format!("{id}: approved by {by}"),
                Err(error) => format!("{id}: {error}"),
            })
        }
    }
}
