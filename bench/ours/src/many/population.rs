//! One unit of the population: 1,000 instances that a node really runs. The rest are copies of it.

use std::sync::Arc;
use std::time::Duration;

use duroxide::client::StartRequest;
use duroxide::providers::Provider;
use duroxide::query::Filter;
use duroxide::runtime::Runtime;
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::{
    ActivityContext, Client, OrchestrationContext, OrchestrationRegistry, RuntimeOptions,
};
use futures_util::stream::{self, StreamExt, TryStreamExt};

use crate::heavy::text;

/// Instances of a unit: the roots and their children.
pub(super) const UNIT: u64 = 1_000;

/// Roots of a unit; those before [`PARENTS`] that complete have one child each.
const ROOTS: u64 = 900;
const PARENTS: u64 = 103;

const STARTS_AT_ONCE: usize = 64;
const SETTLE_MAX: Duration = Duration::from_secs(120);
const SETTLE_POLL: Duration = Duration::from_millis(50);
const SHUTDOWN_MS: u64 = 5_000;

/// How every id of a unit begins: texts of its instances have no other part like it.
pub(super) fn prefix(unit: u64) -> String {
    // Neighbours in time are none in the order of ids.
    format!("u{:06}-", unit * 7_919 % 1_000_000)
}

/// How an instance ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Completes,
    Fails,
    Waits,
    Suspended,
}

/// One in a hundred fails, and two run.
fn end(root: u64) -> End {
    let failing = if (root / 90).is_multiple_of(2) { 11 } else { 45 };
    match root {
        107 => End::Suspended,
        _ if root % 90 == failing => End::Fails,
        _ if root % 50 == 7 => End::Waits,
        _ => End::Completes,
    }
}

/// Five names, frequent and rare.
fn name(root: u64) -> &'static str {
    match root {
        0..400 => "OrderPlaced",
        400..650 => "OrderShipped",
        650..800 => "InvoiceSent",
        800..899 => "Signup",
        _ => "ReportDaily",
    }
}

const NAMES: [&str; 5] = ["OrderPlaced", "OrderShipped", "InvoiceSent", "Signup", "ReportDaily"];
const REGIONS: [&str; 5] = ["eu", "us", "asia", "africa", "oceania"];

/// The start of a root. A tenth of them have attributes.
fn start(unit: u64, root: u64) -> StartRequest {
    let id = format!("{}{root:03}", prefix(unit));
    let input = match end(root) {
        End::Completes if root < PARENTS => "child".to_owned(),
        End::Completes => "ok".to_owned(),
        End::Waits | End::Suspended => "wait".to_owned(),
        End::Fails if root < 90 => format!("fail: the disk of {id} is full"),
        End::Fails if root < 180 => "fail: card refused by the bank".to_owned(),
        End::Fails => "fail: timeout after 30 s, the bank does not answer".to_owned(),
    };
    let request = StartRequest::new(id.as_str(), name(root)).with_input(input);
    if !root.is_multiple_of(9) {
        return request;
    }
    let region = REGIONS[usize::try_from(root / 9 % 5).unwrap_or(0)];
    let request = request
        .with_attribute("customer", id)
        .with_attribute("region", region)
        .with_attribute("amount", i64::try_from(root).unwrap_or(0));
    match root.is_multiple_of(90) {
        true => request.with_attribute("tier", "gold"),
        false => request,
    }
}

async fn workflow(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    if input == "wait" {
        return Ok(ctx.schedule_wait("approval").await);
    }
    ctx.set_custom_status("at work");
    let result = ctx.schedule_activity("work", input.as_str()).await?;
    match input.as_str() {
        "child" => ctx.schedule_sub_orchestration("InvoiceSent", "ok").await,
        _ => Ok(result),
    }
}

async fn work(_ctx: ActivityContext, input: String) -> Result<String, String> {
    match input.strip_prefix("fail: ") {
        Some(error) => Err(error.to_owned()),
        None => Ok("done".to_owned()),
    }
}

/// A node that runs the population.
pub(super) async fn node(store: &Arc<dyn Provider>, options: RuntimeOptions) -> Arc<Runtime> {
    let activities = ActivityRegistry::builder().register("work", work).build();
    let orchestrations = NAMES
        .iter()
        .fold(OrchestrationRegistry::builder(), |all, name| all.register(*name, workflow))
        .build();
    Runtime::start_with_options(Arc::clone(store), activities, orchestrations, options).await
}

/// Stops a node.
pub(super) async fn stop(node: Arc<Runtime>) {
    node.shutdown(Some(SHUTDOWN_MS)).await;
}

/// Runs a unit as far as it gets.
pub(super) async fn run(store: &Arc<dyn Provider>, unit: u64) -> Result<(), String> {
    let node = node(store, RuntimeOptions::default()).await;
    let client = Client::new(Arc::clone(store));
    stream::iter(0..ROOTS)
        .map(|root| client.start_with(start(unit, root)))
        .buffer_unordered(STARTS_AT_ONCE)
        .try_collect::<()>()
        .await
        .map_err(text)?;
    let settled = settle(&client, unit).await;
    let suspended = format!("{}107", prefix(unit));
    client.suspend_instance(&suspended, "the contract is checked").await.map_err(text)?;
    stop(node).await;
    settled
}

/// Waits until every instance has ended or waits.
async fn settle(client: &Client, unit: u64) -> Result<(), String> {
    let ends = |wanted: fn(End) -> bool| (0..ROOTS).filter(|root| wanted(end(*root))).count();
    let waiting = ends(|it| matches!(it, End::Waits | End::Suspended)) as u64;
    let of = |conditions: &str| Filter::parse(&format!("id:{}* {conditions}", prefix(unit)));
    let (all, running) = (of("").map_err(text)?, of("status:running").map_err(text)?);
    let begun = std::time::Instant::now();
    loop {
        let count = async |filter| client.count_instances(filter).await.map_err(text);
        let now = (count(&all).await?.counted(), count(&running).await?.counted());
        if now == (UNIT, waiting) {
            return Ok(());
        }
        if begun.elapsed() > SETTLE_MAX {
            return Err(format!("the unit has {now:?} instances and running ones"));
        }
        tokio::time::sleep(SETTLE_POLL).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_has_the_shares_that_the_page_names() {
        let count = |wanted: End| (0..ROOTS).filter(|root| end(*root) == wanted).count();
        assert_eq!((count(End::Fails), count(End::Waits), count(End::Suspended)), (10, 17, 1));
        let children = (0..PARENTS).filter(|root| end(*root) == End::Completes).count() as u64;
        assert_eq!(ROOTS + children, UNIT);
        assert_eq!((0..ROOTS).filter(|root| root.is_multiple_of(9)).count(), 100);
    }

    #[test]
    fn units_have_ids_of_their_own() {
        let all: std::collections::HashSet<String> = (0..2_000).map(prefix).collect();
        assert_eq!(all.len(), 2_000);
    }
}
