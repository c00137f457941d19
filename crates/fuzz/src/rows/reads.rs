//! Calls that read or change damaged instances. Each ends in time; its answer may be an error.

use std::time::Duration;

use duroxide::Client;
use duroxide::client::{MendOptions, MendPoint};
use duroxide::providers::InstanceQuery;
use duroxide::query::Filter;
use duroxide::transfer::{InstanceWriter, RunningInstances};

use super::tested::within;

/// How long one call may take beside damaged rows.
const CALL_MAX: Duration = Duration::from_secs(15);

/// Reads everything about one instance.
pub(super) async fn read_one(client: &Client, id: &str) -> Result<(), String> {
    let call = async || {
        drop(client.get_orchestration_status(id).await);
        drop(client.get_instance_info(id).await);
        drop(client.list_executions(id).await);
        drop(client.read_execution_history(id, 1).await);
        drop(client.read_stored_history(id).await);
        drop(client.get_kv_all_values(id).await);
        drop(client.get_instance_row(id).await);
        drop(client.get_instance_tree(id).await);
        drop(client.get_orchestration_stats(id).await);
        drop(client.explain_unstarted(id).await);
        drop(client.why(id).await);
    };
    within(&format!("reading '{id}'"), CALL_MAX, call()).await?;
    let mut nowhere =
        InstanceWriter::new("fuzz", std::io::sink()).map_err(|error| error.to_string())?;
    let export = client.export_instance(id, RunningInstances::Snapshot, &mut nowhere);
    within(&format!("exporting '{id}'"), CALL_MAX, async { drop(export.await) }).await?;
    let options = MendOptions::default();
    let plan = client.plan_reset(id, MendPoint::First, &options);
    within(&format!("planning a reset of '{id}'"), CALL_MAX, async { drop(plan.await) }).await
}

/// Lists over all instances. A damaged row must not hide the others: each call succeeds.
pub(super) async fn read_all(client: &Client) -> Result<(), String> {
    let call = async || {
        let report = |what: &str, error: &dyn std::fmt::Display| format!("{what} fails: {error}");
        let ids = client.list_all_instances().await.map_err(|error| report("the list", &error))?;
        let page = client.query_instances(InstanceQuery::new(Filter::all())).await;
        page.map_err(|error| report("a query", &error))?;
        let count = client.count_instances(&Filter::all()).await;
        count.map_err(|error| report("a count", &error))?;
        client.get_store_gauges().await.map_err(|error| report("the gauges", &error))?;
        client.get_system_metrics().await.map_err(|error| report("the metrics", &error))?;
        client.list_unserved_work(10).await.map_err(|error| report("unserved work", &error))?;
        Ok::<usize, String>(ids.len())
    };
    within("reading lists", CALL_MAX, call()).await?.map(drop)
}

/// Removes an instance by force.
pub(super) async fn remove(client: &Client, id: &str) -> Result<(), String> {
    let deletion = client.delete_instance(id, true);
    within(&format!("deleting '{id}'"), CALL_MAX, async { drop(deletion.await) }).await
}
