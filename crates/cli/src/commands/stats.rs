//! `duroxide stats`.

use std::collections::BTreeMap;

use clap::Args;
use serde::Serialize;

use crate::failure::Result;
use crate::output::{Details, Styled, Tone};
use crate::session::Session;

/// Show totals of the store
///
/// Counts everything, so that it takes a while on a large store; `queues` and `count` are quick.
#[derive(Debug, Args)]
pub(crate) struct StatsArgs {}

#[derive(Debug, Serialize)]
struct Stats {
    instances: u64,
    running: u64,
    completed: u64,
    failed: u64,
    suspended: u64,
    executions: u64,
    events: u64,
    ready_messages: u64,
    delayed_messages: u64,
    parked_messages: u64,
    activities: u64,
    live_nodes: usize,
    /// Running instances by the version of Duroxide that they are pinned to.
    running_by_pin: BTreeMap<String, u64>,
}

pub(crate) async fn run(_: StatsArgs, session: &mut Session) -> Result<()> {
    let client = session.reader().await?;
    let totals = client.get_system_metrics().await?;
    let gauges = client.get_store_gauges().await?;
    let stats = Stats {
        instances: totals.total_instances,
        // A suspended instance is listed as such, and not as running.
        running: totals.running_instances.saturating_sub(gauges.suspended_instances),
        completed: totals.completed_instances,
        failed: totals.failed_instances,
        suspended: gauges.suspended_instances,
        executions: totals.total_executions,
        events: totals.total_events,
        ready_messages: gauges.ready_messages,
        delayed_messages: gauges.delayed_messages,
        parked_messages: gauges.parked_messages,
        activities: gauges.activities,
        live_nodes: client.list_live_nodes().await?.len(),
        running_by_pin: client.get_running_duroxide_version_spread().await?,
    };
    let alarming = |count: u64, tone: Tone| {
        Styled::new(count.to_string(), if count > 0 { tone } else { Tone::Plain })
    };
    let pins = stats.running_by_pin.iter().map(|(pin, count)| format!("{count} of {pin}"));
    Details::default()
        .with("instances", stats.instances.to_string())
        .with("  running", stats.running.to_string())
        .with("  completed", stats.completed.to_string())
        .with("  failed", alarming(stats.failed, Tone::Bad))
        .with("  suspended", alarming(stats.suspended, Tone::Warning))
        .with("executions", stats.executions.to_string())
        .with("events", stats.events.to_string())
        .with("ready messages", stats.ready_messages.to_string())
        .with("delayed messages", stats.delayed_messages.to_string())
        .with("parked messages", alarming(stats.parked_messages, Tone::Warning))
        .with("activities", stats.activities.to_string())
        .with("live nodes", stats.live_nodes.to_string())
        .with("running by pin", pins.collect::<Vec<_>>().join(", "))
        .write(&mut session.out, "stats", &stats)
}
