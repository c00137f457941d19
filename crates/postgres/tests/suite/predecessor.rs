//! Stores of duroxide-pg 0.1, and programs that were written for it.

use std::sync::Arc;
use std::time::Duration;

use duroxide_core::providers::{Provider, TagFilter};
use duroxide_core::runtime::registry::{ActivityRegistry, OrchestrationRegistry};
use duroxide_core::runtime::{Runtime, RuntimeOptions};
use duroxide_core::{ActivityContext, Client, OrchestrationContext, OrchestrationStatus};
use duroxide_pg::{MigrationPolicy, Migrations, PostgresError, PostgresProvider, ProviderConfig};
use tokio::time::timeout;

use crate::support::*;

const FIXTURE: &str = include_str!("../fixtures/duroxide_pg_0_1_38.sql");

/// An id that needs care: the character that starts a replacement in our stored texts.
const ODD_ID: &str = "naïve \u{e000} 'id'";

async fn order(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    ctx.set_custom_status("charging");
    ctx.set_kv_value("order", &input);
    let charged = ctx.schedule_activity("Charge", input.clone()).await?;
    ctx.set_custom_status("packing");
    ctx.schedule_activity("Pack", charged).await
}

async fn sleeper(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    ctx.schedule_timer(Duration::from_secs(3)).await;
    Ok(format!("slept {input}"))
}

async fn waiter(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    let go = ctx.schedule_wait("Go").await;
    Ok(format!("{input} {go}"))
}

async fn queued(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    ctx.schedule_timer(Duration::from_secs(3)).await;
    let first = ctx.dequeue_event("inbox").await;
    let second = ctx.dequeue_event("inbox").await;
    Ok(format!("{first} {second}"))
}

async fn parent(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    let child = ctx.schedule_sub_orchestration("Order", input).await?;
    Ok(format!("child: {child}"))
}

async fn counter(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    let number: u32 = input.parse().unwrap();
    ctx.set_kv_value("n", number.to_string());
    if number < 3 {
        return ctx.continue_as_new((number + 1).to_string()).await;
    }
    let go = ctx.schedule_wait("Go").await;
    Ok(format!("{number} {go}"))
}

async fn session(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    ctx.schedule_activity_on_session("Pack", input, "room").await
}

async fn tagged_pack(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    ctx.schedule_activity("Pack", input).with_tag("gpu").await
}

async fn node(store: Arc<PostgresProvider>) -> Arc<Runtime> {
    let charge = |_: ActivityContext, input: String| async move { Ok(format!("charged {input}")) };
    let pack = |_: ActivityContext, input: String| async move { Ok(format!("packed {input}")) };
    let activities = ActivityRegistry::builder().register("Charge", charge).register("Pack", pack);
    let orchestrations = OrchestrationRegistry::builder()
        .register("Order", order)
        .register("Sleeper", sleeper)
        .register("Waiter", waiter)
        .register("Queued", queued)
        .register("Parent", parent)
        .register("Counter", counter)
        .register("Session", session)
        .register("Tagged", tagged_pack);
    let options = RuntimeOptions {
        worker_tag_filter: TagFilter::default_and(["gpu"]),
        ..RuntimeOptions::default()
    };
    Runtime::start_with_options(store, activities.build(), orchestrations.build(), options).await
}

impl Store {
    /// With what duroxide-pg 0.1.38 left behind.
    async fn of_0_1_38() -> Self {
        let store = Self::live();
        let sql = store.sql().await;
        sql.run("CREATE SCHEMA $").await;
        sql.run_as_is(&FIXTURE.replace("{schema}", &store.schema)).await;
        store
    }

    /// The same store in a database of its own, in the schema `public`.
    async fn of_0_1_38_in_public() -> Self {
        let store = Self::in_a_new_database().await;
        store.sql().await.run_as_is(&FIXTURE.replace("{schema}", "public")).await;
        store
    }

    /// An empty database.
    async fn in_a_new_database() -> Self {
        let store = Self::live();
        store.sql().await.run("CREATE DATABASE $").await;
        let (server, _) = store.url.rsplit_once('/').unwrap();
        let url = format!("{server}/{}", store.schema);
        Self { url, schema: "public".to_owned(), clock: None }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_of_the_predecessor_continues_in_place() {
    let store = Store::of_0_1_38().await;
    let provider = store.node().await;
    let client = Client::new(provider.clone());
    assert_eq!(client.get_kv_value("order", "order").await.unwrap().as_deref(), Some("book"));
    assert_eq!(client.get_kv_value("counter", "n").await.unwrap().as_deref(), Some("3"));
    let status = client.get_orchestration_status("order").await.unwrap();
    let custom_status = Some("packing".to_owned());
    assert_eq!(status, OrchestrationStatus::Running { custom_status, custom_status_version: 2 });
    let failed = client.get_orchestration_status("failed").await.unwrap();
    assert!(matches!(failed, OrchestrationStatus::Failed { .. }), "{failed:?}");
    let info = client.get_instance_info("parent::sub::2").await.unwrap();
    assert_eq!(info.parent_instance_id.as_deref(), Some("parent"));
    assert_eq!(client.get_instance_info("done").await.unwrap().created_at, 1_794_917_924_410);

    let runtime = node(provider).await;
    for instance in ["waiter", "counter", ODD_ID] {
        client.raise_event(instance, "Go", "go").await.unwrap();
    }
    for (instance, output) in [
        ("done", "packed charged quick book"),
        ("order", "packed charged book"),
        ("sleeper", "slept well"),
        ("waiter", "may go"),
        ("queued", "one two"),
        ("parent", "child: packed charged pen"),
        ("counter", "3 go"),
        ("session", "packed chair"),
        ("tagged", "packed gpu quick"),
        (ODD_ID, "odd go"),
        ("unstarted", "packed charged quick late"),
    ] {
        let status = client.wait_for_orchestration(instance, PATIENCE).await.unwrap();
        let is_completed = matches!(&status, OrchestrationStatus::Completed { output: found, .. }
            if found == output);
        assert!(is_completed, "{instance}: {status:?}");
    }
    runtime.shutdown(None).await;
}

#[tokio::test]
async fn nodes_of_the_predecessor_are_kept_out_with_a_reason() {
    let store = Store::of_0_1_38().await;
    drop(store.node().await);
    let (client, connection) =
        tokio_postgres::connect(&store.url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    for call in ["list_instances()", "ack_worker('t')", "get_custom_status('i', 0)"] {
        let sql = format!("SELECT * FROM {}.{call}", store.schema);
        let error = client.batch_execute(&sql).await.unwrap_err();
        let error = error.as_db_error().unwrap();
        assert_eq!(error.message(), "this store was migrated to duroxide-pg 0.2");
        assert!(error.hint().unwrap().contains("upgrade"), "{error}");
    }
    // 0.1.38 refuses a ledger with a step that it does not know.
    let sql = "SELECT count(*) FROM $._duroxide_migrations WHERE version > 26";
    assert_eq!(store.count(sql).await, 1);
    // Migrated once; the next node finds everything in place.
    drop(store.builder().with_migrations(Migrations::Verify).open().await.unwrap());
}

#[tokio::test]
async fn ten_nodes_may_migrate_a_store_of_the_predecessor_at_once() {
    let store = Store::of_0_1_38().await;
    futures_util::future::join_all((0..10).map(|_| store.node())).await;
    assert_eq!(store.count("SELECT count(*) FROM $.executions").await, 14);
}

#[tokio::test]
async fn an_older_store_of_the_predecessor_is_refused_and_left_alone() {
    let store = Store::of_0_1_38().await;
    let sql = store.sql().await;
    sql.run("DELETE FROM $._duroxide_migrations WHERE version > 19").await;
    let error = store.builder().open().await.unwrap_err();
    assert!(matches!(error, PostgresError::Predecessor { found: 19, .. }), "{error}");
    assert!(error.to_string().contains("0.1.38"), "{error}");
    assert_eq!(sql.count("SELECT count(*) FROM $.instance_locks WHERE locked_at > 0").await, 0);
    assert_eq!(sql.count("SELECT count(*) FROM $.executions").await, 14);
}

#[tokio::test]
async fn a_node_that_only_verifies_leaves_a_store_of_the_predecessor_alone() {
    let store = Store::of_0_1_38().await;
    let error = store.builder().with_migrations(Migrations::Verify).open().await.unwrap_err();
    assert!(matches!(error, PostgresError::OlderSchema { found: 0, .. }), "{error}");
    let sql = "SELECT count(*) FROM $._duroxide_migrations WHERE version > 26";
    assert_eq!(store.count(sql).await, 0);
}

#[tokio::test]
async fn without_a_name_the_store_of_the_predecessor_is_found() {
    let store = Store::of_0_1_38_in_public().await;
    for _ in 0..2 {
        let provider = PostgresProvider::new(&store.url).await.unwrap();
        assert_eq!(provider.schema_name(), "public");
        assert_eq!(provider.read("done").await.unwrap().len(), 9);
    }
}

#[tokio::test]
async fn without_a_name_a_store_of_ours_comes_first() {
    let store = Store::in_a_new_database().await;
    assert_eq!(PostgresProvider::new(&store.url).await.unwrap().schema_name(), "duroxide");
    store.sql().await.run_as_is(&FIXTURE.replace("{schema}", "public")).await;
    assert_eq!(PostgresProvider::new(&store.url).await.unwrap().schema_name(), "duroxide");
}

#[tokio::test]
async fn constructors_of_the_predecessor_compile_and_work() {
    let store = Store::live();
    let (url, schema) = (store.url.as_str(), store.schema.as_str());
    let by_name = PostgresProvider::new_with_schema(url, schema).await.unwrap();
    let by_option = PostgresProvider::new_with_schema(url, Some(schema)).await.unwrap();
    assert_eq!((by_name.schema_name(), by_option.schema_name()), (schema, schema));
    by_option.initialize_schema().await.unwrap();
    let mut config = ProviderConfig::url(url);
    config.schema_name = Some(schema.to_owned());
    config.migration_policy = MigrationPolicy::VerifyOnly;
    let configured = PostgresProvider::new_with_config(config.clone()).await.unwrap();
    configured.cleanup_schema().await.unwrap();
    let error = PostgresProvider::new_with_config(config).await.unwrap_err();
    assert!(matches!(error, PostgresError::OlderSchema { found: 0, .. }), "{error}");
}

#[tokio::test]
async fn dropping_a_store_in_public_leaves_other_tables_alone() {
    let store = Store::of_0_1_38_in_public().await;
    store.sql().await.run("CREATE TABLE $.theirs (id INTEGER)").await;
    let provider = PostgresProvider::new_with_schema(&store.url, None).await.unwrap();
    provider.cleanup_schema().await.unwrap();
    let relations = "SELECT count(*) FROM pg_class c
         JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'public'";
    assert_eq!(store.count(relations).await, 1);
    let functions = "SELECT count(*) FROM pg_proc p
         JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = 'public'";
    assert_eq!(store.count(functions).await, 3, "the functions of the predecessor stay");
}

/// The server's own vacuum locks a table for a moment, as any reader does.
#[tokio::test]
async fn dropping_a_store_waits_for_those_who_use_its_tables() {
    for store in [Store::live(), Store::in_a_new_database().await] {
        let node = store.node().await;
        let reader = store.sql().await;
        reader.run("BEGIN; LOCK TABLE $.history IN ACCESS SHARE MODE").await;
        let dropped = tokio::spawn(async move { node.cleanup_schema().await });
        let longer_than_a_commit_waits = "SELECT count(*) FROM pg_locks
            WHERE NOT granted AND relation = '$.history'::REGCLASS
                AND waitstart < clock_timestamp() - INTERVAL '100 ms'";
        let waiting = async { while reader.count(longer_than_a_commit_waits).await == 0 {} };
        timeout(PATIENCE, waiting).await.expect("it waits");
        reader.run("COMMIT").await;
        dropped.await.unwrap().unwrap();
        assert_eq!(store.count("SELECT count(to_regclass('$.history'))").await, 0);
    }
}
