//! The visible state of a provider, read without changing it.

use std::collections::BTreeMap;

use duroxide_core::providers::{
    DispatcherCapabilityFilter, FetchFilter, InstanceCountQuery, InstanceOrder, InstanceQuery,
    InstanceQueues, InstanceQueuesQuery, Provider, ProviderAdmin, ProviderError,
    RegisteredOrchestrations, SemverRange, StrandedTurnQuery, WaitingTurn,
};
use duroxide_core::query::{Filter, InstanceRow};
use semver::Version;

use crate::as_text::text;
use crate::op::{CODE, INSTANCES, KEYS, PINS};

/// The executions that steps can reach, and one more.
const EXECUTIONS: std::ops::RangeInclusive<u64> = 1..=4;

/// The visible state, one fact per line.
pub(crate) async fn visible(provider: &dyn Provider) -> Vec<String> {
    let admin = provider.as_management_capability().expect("both providers have a management side");
    let [a, b, c, d] = INSTANCES;
    // Concurrent, because a store with group commit serves many reads at once.
    let (totals, a, b, c, d) = tokio::join!(
        totals(admin),
        instance_facts(provider, admin, a),
        instance_facts(provider, admin, b),
        instance_facts(provider, admin, c),
        instance_facts(provider, admin, d),
    );
    [totals, a, b, c, d].concat()
}

async fn instance_facts(
    provider: &dyn Provider,
    admin: &dyn ProviderAdmin,
    instance: &str,
) -> Vec<String> {
    let (state, details, executions) = tokio::join!(
        instance_state(provider, instance),
        instance_details(admin, instance),
        execution_details(admin, instance),
    );
    let lines = [state, details, executions].concat();
    lines.into_iter().map(|line| format!("{instance} {line}")).collect()
}

async fn totals(admin: &dyn ProviderAdmin) -> Vec<String> {
    let mut lines = vec![
        format!("instances: {}", text(admin.list_instances().await)),
        format!("metrics: {}", text(admin.get_system_metrics().await)),
        format!("depths: {}", text(admin.get_queue_depths().await)),
        format!("versions: {}", text(admin.get_running_duroxide_version_spread().await)),
        format!("handlers: {}", text(admin.get_running_handler_version_spread().await)),
        format!("parked: {}", text(admin.list_parked_messages(100).await)),
        format!("first parked: {}", text(admin.list_parked_messages(1).await)),
        format!("suspended: {}", text(admin.list_suspended(None, 100).await)),
        format!("stranded: {}", text(stranded(admin).await)),
        format!("cancelled: {}", text(cancelled(admin).await)),
    ];
    for filter in FILTERS {
        lines.push(format!("query {filter}: {}", text(queried(admin, filter).await)));
    }
    for status in ["Running", "Completed", "Failed", "ContinuedAsNew"] {
        let listed = admin.list_instances_by_status(status).await;
        lines.push(format!("{status}: {}", text(listed)));
    }
    lines
}

/// What queries select, by index or without.
const FILTERS: [&str; 9] = [
    "",
    "status:running,suspended",
    "status:failed,suspended",
    "-status:completed name:Flow*",
    "id:a*",
    "parent:a",
    "category:application",
    "custom:any",
    "-pin:none version:1.*",
];

/// All rows of a filter in small pages, from both ends, and their number.
async fn queried(
    admin: &dyn ProviderAdmin,
    filter: &str,
) -> Result<(Vec<InstanceRow>, Vec<InstanceRow>, u64), ProviderError> {
    let filter = Filter::parse(filter).expect("the tests name filters that can be read");
    let newest = InstanceQuery::new(filter.clone()).with_limit(2);
    let newest = pages(admin, newest).await?;
    let by_id = InstanceQuery::new(filter.clone()).sorted_by(InstanceOrder::Id).ascending();
    let by_id = pages(admin, by_id.with_limit(2)).await?;
    let counted = admin.count_instances(InstanceCountQuery::new(filter, 100)).await?;
    Ok((newest, by_id, counted.count))
}

async fn pages(
    admin: &dyn ProviderAdmin,
    mut query: InstanceQuery,
) -> Result<Vec<InstanceRow>, ProviderError> {
    let mut rows = Vec::new();
    loop {
        let page = admin.query_instances(query.clone()).await?;
        rows.extend(page.rows);
        let Some(next) = page.next else { return Ok(rows) };
        query = query.with_after(next);
    }
}

/// What a node with some of the code and one version cannot run, and what it needs, by instance.
async fn stranded(admin: &dyn ProviderAdmin) -> Result<Needed, ProviderError> {
    let mut stranded = Needed::new();
    let mut query = few_versions();
    loop {
        let page = admin.list_stranded_turns(query.clone()).await?;
        note(&mut stranded, page.turns);
        let Some(next) = page.next else { return Ok(stranded) };
        query = query.with_after(next);
    }
}

/// Those of them for which a cancellation waits.
async fn cancelled(admin: &dyn ProviderAdmin) -> Result<Needed, ProviderError> {
    let mut cancelled = Needed::new();
    let mut query = few_versions();
    loop {
        let page = admin.list_cancelled_turns(query.clone()).await?;
        note(&mut cancelled, page.turns);
        let Some(next) = page.next else { return Ok(cancelled) };
        query = query.with_after(next);
    }
}

/// What turns need, and their executions, by instance.
type Needed = BTreeMap<String, (Option<u64>, String)>;

fn note(found: &mut Needed, turns: Vec<WaitingTurn>) {
    for turn in turns {
        let needs = format!("{:?} {:?}", turn.code, turn.pin);
        let again = found.insert(turn.instance_id, (turn.execution_id, needs));
        assert_eq!(again, None, "each instance is listed once");
    }
}

/// What a node with some of the code and one version cannot run.
fn few_versions() -> StrandedTurnQuery {
    let registered = [CODE[0]].map(|(name, version)| (name, parsed(version)));
    let ranges = vec![SemverRange::new(parsed(PINS[0]), parsed(PINS[1]))];
    let node = FetchFilter::everything()
        .with_orchestrations(RegisteredOrchestrations::new(registered))
        .with_replays(DispatcherCapabilityFilter { supported_duroxide_versions: ranges });
    StrandedTurnQuery::new(vec![node], 2)
}

fn parsed(version: &str) -> Version {
    Version::parse(version).expect("the tests name versions that are semver")
}

async fn instance_state(provider: &dyn Provider, instance: &str) -> Vec<String> {
    let values = provider.get_kv_all_values(instance).await;
    let sorted = values.map(|values| values.into_iter().collect::<BTreeMap<_, _>>());
    let mut lines = vec![
        format!("values: {}", text(sorted)),
        format!("read: {}", text(provider.read(instance).await)),
        format!("outcome: {}", text(provider.read_outcome(instance).await)),
        format!("start: {}", text(provider.read_start_event(instance).await)),
        format!("stats: {}", text(provider.get_instance_stats(instance).await)),
        format!("status: {}", text(provider.get_custom_status(instance, 0).await)),
        format!("status after 1: {}", text(provider.get_custom_status(instance, 1).await)),
    ];
    for key in KEYS {
        let value = provider.get_kv_value(instance, key).await;
        lines.push(format!("value of '{key}': {}", text(value)));
    }
    lines
}

async fn instance_details(admin: &dyn ProviderAdmin, instance: &str) -> Vec<String> {
    vec![
        format!("info: {}", text(admin.get_instance_info(instance).await)),
        format!("executions: {}", text(admin.list_executions(instance).await)),
        format!("latest: {}", text(admin.latest_execution_id(instance).await)),
        format!("children: {}", text(admin.list_children(instance).await)),
        format!("parent: {}", text(admin.get_parent_id(instance).await)),
        format!("tree: {}", text(admin.get_instance_tree(instance).await)),
        format!("history: {}", text(admin.read_history(instance).await)),
        format!("queues: {}", text(queues(admin, instance).await)),
    ]
}

async fn queues(
    admin: &dyn ProviderAdmin,
    instance: &str,
) -> Result<Option<InstanceQueues>, ProviderError> {
    admin.read_instance_queues(InstanceQueuesQuery::new(instance, 100)).await
}

async fn execution_details(admin: &dyn ProviderAdmin, instance: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for execution in EXECUTIONS {
        let info = admin.get_execution_info(instance, execution).await;
        let history = admin.read_history_with_execution_id(instance, execution).await;
        lines.push(format!("execution {execution}: {}, {}", text(info), text(history)));
    }
    lines
}
