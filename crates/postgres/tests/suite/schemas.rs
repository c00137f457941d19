//! Creating, checking and naming schemas.

use std::time::Duration;

use duroxide_core::providers::{Provider, TurnFetch};
use duroxide_pg::{Migrations, PostgresError, PostgresProvider};
use tokio::time::timeout;

use crate::deletion::until_blocked;
use crate::support::*;

#[tokio::test]
async fn ten_nodes_may_create_the_tables_at_once() {
    let store = Store::live();
    let nodes = futures_util::future::join_all((0..10).map(|_| store.node())).await;
    for (number, node) in nodes.iter().enumerate() {
        create(&**node, &format!("i-{number}")).await;
    }
    let steps = store.count("SELECT count(*) FROM $.duroxide_migrations").await;
    let newest = store.count("SELECT max(version) FROM $.duroxide_migrations").await;
    assert_eq!(steps, newest);
}

#[tokio::test]
async fn any_schema_name_works() {
    let url = duroxide_pg_server::shared_url().unwrap();
    for name in [
        "Mixed Case",
        "x\"; DROP SCHEMA public CASCADE; --",
        "a$body$b$do$c",
        "it's",
        "back\\slash' OR '1'='1",
        "{schema}",
        "smörgåsbord",
        "table",
    ] {
        let node = PostgresProvider::new_with_schema(&url, name).await.unwrap();
        create(&node, "a").await;
        assert_eq!(node.read("a").await.unwrap().len(), 1, "{name}");
        drop(
            PostgresProvider::builder(&url)
                .with_schema(name)
                .with_migrations(Migrations::Verify)
                .open()
                .await
                .unwrap(),
        );
        drop(node);
        let (client, connection) =
            tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        let found = client
            .query_one("SELECT count(*) FROM pg_namespace WHERE nspname = $1", &[&name])
            .await
            .unwrap();
        assert_eq!(found.get::<_, i64>(0), 1, "{name}");
        let quoted = name.replace('"', "\"\"");
        client.batch_execute(&format!("DROP SCHEMA \"{quoted}\" CASCADE")).await.unwrap();
    }
}

#[tokio::test]
async fn tenants_do_not_see_each_other() {
    let (one, other) = (Store::live(), Store::live());
    let (one, other) = (one.node().await, other.node().await);
    create(&*one, "a").await;
    assert!(other.read("a").await.unwrap().is_empty());
}

#[tokio::test]
async fn a_node_that_only_verifies_creates_nothing() {
    let store = Store::live();
    let error = store.builder().with_migrations(Migrations::Verify).open().await.unwrap_err();
    assert!(matches!(error, PostgresError::OlderSchema { found: 0, .. }), "{error}");
    assert!(error.to_string().contains("duroxide-pg schema"), "{error}");
    let sql = "SELECT count(*) FROM pg_namespace WHERE nspname = '$'";
    assert_eq!(store.count(sql).await, 0);
}

#[tokio::test]
async fn the_printed_sql_is_all_that_a_schema_needs() {
    let store = Store::live();
    let text = PostgresProvider::schema_sql(&store.schema).unwrap();
    // Through a plain connection, as a database administrator would.
    let (client, connection) =
        tokio_postgres::connect(&store.url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client.batch_execute(&text).await.unwrap();
    let node = store.builder().with_migrations(Migrations::Verify).open().await.unwrap();
    create(&node, "a").await;
}

#[tokio::test]
async fn an_existing_schema_is_filled() {
    let store = Store::live();
    let sql = store.sql().await;
    sql.run("CREATE SCHEMA $; CREATE TABLE $.theirs AS SELECT 7 AS seven").await;
    let node = store.node().await;
    create(&*node, "a").await;
    assert_eq!(node.read("a").await.unwrap().len(), 1);
    assert_eq!(sql.count("SELECT count(*) FROM $.theirs").await, 1, "it is left alone");
}

/// A node that waits for the migration of another one does so as long as that takes: the lock was
/// awaited under the timeout of statements, and the node did not start.
#[tokio::test]
async fn a_node_waits_for_a_migration_longer_than_for_a_statement() {
    const TIMEOUT: Duration = Duration::from_secs(1);
    let store = Store::live();
    let name = format!("migrates-{}", store.schema);
    let store = Store { url: format!("{}?application_name={name}", store.url), ..store };
    let sql = store.sql().await;
    // The first node holds the lock of migrations and waits for this transaction.
    sql.run("BEGIN; CREATE SCHEMA $").await;
    let open = || tokio::spawn(store.builder().with_statement_timeout(TIMEOUT).open());
    let nodes = [open(), open()];
    let waiting = format!(
        "SELECT count(*) FROM pg_stat_activity a JOIN pg_locks l USING (pid)
         WHERE NOT l.granted AND l.locktype = 'advisory' AND a.application_name = '{name}'
             AND clock_timestamp() - a.query_start > interval '{} ms'",
        2 * TIMEOUT.as_millis()
    );
    let other = store.sql().await;
    let waits = async {
        while other.count(&waiting).await == 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waits).await.expect("the second one waits");
    sql.run("ROLLBACK").await;
    for node in nodes {
        drop(node.await.unwrap().expect("it opens"));
    }
}

#[tokio::test]
async fn a_newer_schema_is_refused() {
    let store = Store::live();
    drop(store.node().await);
    let sql = store.sql().await;
    sql.run("INSERT INTO $.duroxide_migrations (version, name) VALUES (999, 'later')").await;
    let error = store.builder().open().await.unwrap_err();
    assert!(matches!(error, PostgresError::NewerSchema { found: 999, .. }), "{error}");
}

#[tokio::test]
async fn a_role_that_may_only_use_the_tables_can_work() {
    let store = Store::live();
    drop(store.node().await);
    let role = format!("r{}", store.schema);
    let sql = store.sql().await;
    sql.run(&format!(
        "CREATE ROLE {role} LOGIN PASSWORD '{role}';
         GRANT USAGE ON SCHEMA $ TO {role};
         GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA $ TO {role};
         GRANT USAGE ON ALL SEQUENCES IN SCHEMA $ TO {role};
         GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA $ TO {role};"
    ))
    .await;
    let url = store.url_of(&role);
    let builder = PostgresProvider::builder(&url).with_schema(&store.schema);
    let node = builder.with_migrations(Migrations::Verify).open().await.unwrap();
    create(&node, "a").await;
    node.enqueue_for_worker(activity("a", 1)).await.unwrap();
    let any = duroxide_core::providers::TagFilter::Any;
    assert!(node.fetch_work_item(LEASE, NOW, None, &any).await.unwrap().is_some());
}

/// A schema of version 7, with a start that a node of that time enqueued.
async fn version_7() -> Store {
    let store = Store::live();
    let sql = store.sql().await;
    sql.run("CREATE SCHEMA $").await;
    let text = include_str!("../fixtures/schema_7.sql").replace("{schema}", &store.schema);
    sql.run_as_is(&text).await;
    enqueue_by_version_7(&sql, "old").await;
    store
}

async fn enqueue_by_version_7(sql: &Sql, instance: &str) {
    let item = serde_json::to_string(&start(instance)).unwrap();
    let call =
        "SELECT $.enqueue_messages(NULL, ARRAY['{instance}'], ARRAY['{item}'], ARRAY[0]::BIGINT[],
        ARRAY[1]::SMALLINT[], ARRAY[NULL]::UUID[], ARRAY[NULL]::BIGINT[])";
    sql.count(&call.replace("{instance}", instance).replace("{item}", &item)).await;
}

#[tokio::test]
async fn a_schema_of_version_7_is_migrated() {
    let store = version_7().await;
    let error = store.builder().with_migrations(Migrations::Verify).open().await.unwrap_err();
    assert!(matches!(error, PostgresError::OlderSchema { found: 7, .. }), "{error}");
    let node = store.node().await;
    let turns = node.fetch_orchestration_items(TurnFetch::new(1, LEASE)).await.unwrap();
    assert_eq!(turns[0].item.instance, "old");
    create(&*node, "new").await;
    assert_eq!(node.read("new").await.unwrap().len(), 1);
}

/// The functions that a node of version 7 calls stay, and do what they did.
#[tokio::test]
async fn a_node_of_version_7_continues_after_the_migration() {
    let store = version_7().await;
    let node = store.node().await;
    let sql = store.sql().await;
    enqueue_by_version_7(&sql, "later").await;
    let fetch_turns = "SELECT count(*) FROM $.fetch_turns(NULL, 10, 60000, NULL, NULL, 7, 0, 100)
        WHERE o_instance IS NOT NULL";
    assert_eq!(sql.count(fetch_turns).await, 2, "both starts");
    let nothing = node.fetch_orchestration_items(TurnFetch::new(1, LEASE)).await.unwrap();
    assert!(nothing.is_empty(), "the node of version 7 has leased them");
    let item = serde_json::to_string(&activity("old", 2)).unwrap();
    let enqueue_work = "SELECT $.enqueue_work(NULL, ARRAY['old'], ARRAY[1]::BIGINT[],
        ARRAY[2]::BIGINT[], ARRAY[NULL]::TEXT[], ARRAY[''], ARRAY['{item}'])";
    sql.count(&enqueue_work.replace("{item}", &item)).await;
    let fetch_work = "SELECT count(*) FROM $.fetch_work(NULL, 60000, ARRAY[''],
        ARRAY['worker'], ARRAY[60000]::BIGINT[]) WHERE o_item IS NOT NULL";
    assert_eq!(sql.count(fetch_work).await, 1);
}

/// As if another build had installed its functions.
#[tokio::test]
async fn the_functions_of_two_builds_live_side_by_side() {
    let store = Store::live();
    drop(store.node().await);
    let sql = store.sql().await;
    let ours = sql.function("now_ms").await.replace("now_ms_", "");
    sql.run("UPDATE $.duroxide_functions SET version = 'other'").await;
    let error = store.builder().with_migrations(Migrations::Verify).open().await.unwrap_err();
    let missing =
        matches!(&error, PostgresError::MissingFunctions { version, .. } if *version == ours);
    assert!(missing && error.to_string().contains("duroxide-pg functions"), "{error}");
    let node = store.node().await;
    create(&*node, "a").await;
    assert_eq!(store.count("SELECT count(*) FROM $.duroxide_functions").await, 2);
}

#[tokio::test]
async fn the_printed_functions_may_be_installed_again() {
    let store = Store::live();
    drop(store.node().await);
    let text = PostgresProvider::functions_sql(&store.schema).unwrap();
    let sql = store.sql().await;
    let functions = "SELECT count(*) FROM pg_proc WHERE pronamespace = '$'::regnamespace";
    let before = store.count(functions).await;
    for _ in 0..2 {
        sql.run_as_is(&text).await;
    }
    assert_eq!(store.count(functions).await, before);
    drop(store.builder().with_migrations(Migrations::Verify).open().await.unwrap());
}

/// Takes a schema back to the step before 28, with the indexes that it and later ones replace.
async fn before_step_28(store: &Store) -> Sql {
    drop(store.node().await);
    let sql = store.sql().await;
    sql.run(
        "DELETE FROM $.duroxide_migrations WHERE version >= 28;
         DROP INDEX $.idx_orch_parked_of, $.idx_orch_parked_list;
         CREATE INDEX idx_orch_parked ON $.orchestrator_queue (id) WHERE parked;
         CREATE INDEX IF NOT EXISTS idx_history_children ON $.history (instance_id)",
    )
    .await;
    sql
}

/// The step created an index, which lets others read, and then dropped one, which does not. A node
/// that had read the table and went on to write it waited for the first, and the second for it.
#[tokio::test]
async fn a_migration_does_not_deadlock_with_a_node_that_reads_and_then_writes() {
    let store = Store::patient();
    let sql = before_step_28(&store).await;
    let working = store.sql().await;
    working.run("BEGIN; SELECT count(*) FROM $.orchestrator_queue").await;
    let builder = store.builder();
    let migrated = tokio::spawn(async move { builder.open().await.map(drop) });
    until_blocked(&sql).await;
    working
        .run(
            "INSERT INTO $.orchestrator_queue (instance_id, work_item, visible_at, created_at, kind)
             VALUES ('a', '{}', 1, 1, 0);
             COMMIT",
        )
        .await;
    timeout(PATIENCE, migrated).await.unwrap().unwrap().unwrap();
    drop(store.builder().with_migrations(Migrations::Verify).open().await.unwrap());
    assert_eq!(sql.count("SELECT count(*) FROM $.orchestrator_queue").await, 1);
}
