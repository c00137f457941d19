//! Stores, nodes, and files in memory.

use std::sync::Arc;
use std::time::Duration;

use duroxide::client::{ExportReport, ExportRequest, ExportSelection, ImportReport};
use duroxide::providers::postgres::PostgresProvider;
use duroxide::providers::sqlite::SqliteProvider;
use duroxide::providers::{Provider, TagFilter};
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::runtime::{OrchestrationRegistry, Runtime, RuntimeOptions};
use duroxide::transfer::{
    ImportOptions, InstanceReader, InstanceWriter, RunningInstances, TransferError,
    compare_instances,
};
use duroxide::{ActivityContext, Client, OrchestrationStatus};

pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) type Store = Arc<dyn Provider>;

pub(crate) async fn sqlite() -> Store {
    Arc::new(SqliteProvider::new_in_memory().await.unwrap())
}

pub(crate) async fn postgres(case: &str) -> Store {
    let url = duroxide_pg_server::shared_url().unwrap();
    let schema: String = format!("t{}_{case}", std::process::id()).chars().take(60).collect();
    Arc::new(PostgresProvider::new_with_schema(&url, &schema).await.unwrap())
}

pub(crate) fn client(store: &Store) -> Client {
    Client::new(Arc::clone(store))
}

/// Runs the orchestrations on a store. Activities with the tag `remote` only if it is served.
pub(crate) async fn node(
    store: &Store,
    orchestrations: OrchestrationRegistry,
    serves_remote: bool,
) -> Arc<Runtime> {
    let activities = ActivityRegistry::builder()
        .register(
            "Echo",
            |_: ActivityContext, input: String| async move { Ok(format!("{input}!")) },
        )
        .register("Fail", |_: ActivityContext, input: String| async move {
            Err::<String, String>(input)
        })
        .build();
    let tags = match serves_remote {
        true => TagFilter::default_and(["remote"]),
        false => TagFilter::default_only(),
    };
    let options = RuntimeOptions { worker_tag_filter: tags, ..RuntimeOptions::default() };
    Runtime::start_with_options(Arc::clone(store), activities, orchestrations, options).await
}

/// A file with the instances that a request selects.
pub(crate) async fn try_export(
    store: &Store,
    request: ExportRequest,
) -> Result<(Vec<u8>, ExportReport), TransferError> {
    let mut writer = InstanceWriter::new("file", Vec::new())?;
    let report = client(store).export_instances(request, &mut writer, |_| {}).await?;
    Ok((writer.finish()?, report))
}

/// A file with all instances of a store.
pub(crate) async fn export_all(store: &Store) -> Vec<u8> {
    let request = ExportRequest::new(ExportSelection::All).with_running(RunningInstances::Hold);
    try_export(store, request).await.unwrap().0
}

pub(crate) async fn try_import(
    store: &Store,
    file: &[u8],
    options: ImportOptions,
) -> Result<ImportReport, TransferError> {
    let mut reader = InstanceReader::new("file", file)?;
    client(store).import_instances(&mut reader, options, |_| {}).await
}

/// Imports a file and reads it back.
pub(crate) async fn import(store: &Store, file: &[u8]) -> ImportReport {
    let options = ImportOptions::default().verifying();
    let mut differences = Vec::new();
    let mut reader = InstanceReader::new("file", file).unwrap();
    let observe = |imported: &duroxide::transfer::ImportedInstance| {
        differences.extend(imported.differences.clone());
    };
    let report = client(store).import_instances(&mut reader, options, observe).await.unwrap();
    assert!(differences.is_empty(), "{differences:?}");
    report
}

pub(crate) async fn assert_same(one: &Store, other: &Store, instances: &[&str]) {
    for instance in instances {
        let differences = compare_instances(&**one, &**other, instance).await.unwrap();
        assert!(differences.is_empty(), "{instance}: {differences:?}");
    }
}

pub(crate) async fn output(client: &Client, instance: &str) -> String {
    match client.wait_for_orchestration(instance, TIMEOUT).await {
        Ok(OrchestrationStatus::Completed { output, .. }) => output,
        other => panic!("{instance} did not complete: {other:?}"),
    }
}

/// Waits until a condition holds that no event of the store announces.
pub(crate) async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(TIMEOUT, waiting).await.unwrap_or_else(|_| panic!("{what} never held"));
}
