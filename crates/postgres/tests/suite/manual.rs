//! The SQL of `docs/postgres.md`, run unchanged, so that the manual stays correct.

use std::time::Duration;

use duroxide_core::providers::{
    Provider, SessionFetchConfig, TagFilter, WorkItem, WorkerAnnouncement,
};
use duroxide_pg::{Migrations, PostgresProvider};
use tokio_postgres::{Client, NoTls};

use crate::support::*;

const MANUAL: &str = include_str!("../../../../docs/postgres.md");
/// The name that the manual gives to the schema, and the roles begin with it.
const NAME: &str = "duroxide";
const SHORT: Duration = Duration::from_millis(1);

/// The statements under a heading, in the schema of the store.
pub(crate) fn statements(heading: &str, store: &Store) -> Vec<String> {
    let section = MANUAL.split("\n## ").find(|section| section.starts_with(heading));
    let section = section.unwrap_or_else(|| panic!("the manual has no section '{heading}'"));
    let blocks = section.split("```sql\n").skip(1);
    let blocks = blocks.map(|block| block.split("```").next().unwrap());
    // The name of the application is not the name of the schema.
    let schema = |sql: &str| {
        let kept = sql.replace("'duroxide'", "'\0'");
        kept.replace(NAME, &store.schema).replace("'\0'", "'duroxide'")
    };
    blocks.map(schema).collect()
}

async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// Sets up the roles as the manual says, and the tables as the owner; the URL of a role.
async fn with_roles(store: &Store) -> impl Fn(&str) -> String + use<'_> {
    let admin = connect(&store.url).await;
    for sql in statements("Roles", store) {
        admin.batch_execute(&sql).await.unwrap();
    }
    // A careful administrator lets only those execute functions who are named.
    let sql = "ALTER DEFAULT PRIVILEGES FOR ROLE $_owner REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC";
    admin.batch_execute(&sql.replace('$', &store.schema)).await.unwrap();
    let printed = PostgresProvider::schema_sql(&store.schema).unwrap();
    let sql = format!("SET ROLE {}_owner;\n{printed}", store.schema);
    admin.batch_execute(&sql).await.unwrap();
    for role in ["app", "reader"] {
        let role = format!("{}_{role}", store.schema);
        let sql = format!("RESET ROLE; ALTER ROLE {role} PASSWORD '{role}'");
        admin.batch_execute(&sql).await.unwrap();
    }
    |role| store.url_of(&format!("{}_{role}", store.schema))
}

async fn open(store: &Store, url: &str) -> PostgresProvider {
    let builder = PostgresProvider::builder(url).with_schema(&store.schema);
    builder.with_migrations(Migrations::Verify).open().await.unwrap()
}

#[tokio::test]
async fn the_roles_of_the_manual_can_do_their_work_and_no_more() {
    let store = Store::live();
    let url = with_roles(&store).await;
    let node = open(&store, &url("app")).await;
    create(&node, "a").await;
    node.enqueue_for_worker(activity("a", 1)).await.unwrap();
    let work = node.fetch_work_item(LEASE, NOW, None, &TagFilter::Any).await.unwrap();
    node.ack_work_item(&work.unwrap().1, Some(completed("a", 1))).await.unwrap();
    let app = connect(&url("app")).await;
    for sql in ["CREATE TABLE $.t ()", "DROP TABLE $.history", "ALTER TABLE $.history ADD x INT"] {
        let refused = app.batch_execute(&sql.replace('$', &store.schema)).await.unwrap_err();
        assert_eq!(refused.code().unwrap().code(), "42501", "{sql}");
    }
    let reader = connect(&url("reader")).await;
    let sql = format!("DELETE FROM {}.history", store.schema);
    let refused = reader.batch_execute(&sql).await.unwrap_err();
    assert_eq!(refused.code().unwrap().code(), "42501");
}

/// Some of everything that the statements select.
async fn fill(node: &PostgresProvider) {
    create(node, "a").await;
    node.enqueue_for_orchestrator(signal("a", "later"), Some(LEASE * 100)).await.unwrap();
    node.enqueue_for_orchestrator(queued("missing", "parked"), None).await.unwrap();
    // A turn and an activity that were leased twice and whose leases expired.
    node.enqueue_for_orchestrator(signal("a", "now"), None).await.unwrap();
    let mut in_session = activity("a", 1);
    if let WorkItem::ActivityExecute { session_id, .. } = &mut in_session {
        *session_id = Some("session".to_owned());
    }
    node.enqueue_for_worker(in_session).await.unwrap();
    let owner = SessionFetchConfig { owner_id: "owner".to_owned(), lock_timeout: PATIENCE };
    let (mut turns, mut work) = (0, 0);
    let taken = async {
        while turns < 2 || work < 2 {
            let turn = node.fetch_orchestration_item(SHORT, NOW, None).await.unwrap();
            if let Some((_item, token, _attempts)) = &turn {
                // A lease that expires while the code runs counts.
                node.mark_turn_running(token, true).await.unwrap();
            }
            turns += u32::from(turn.is_some());
            let fetched = node.fetch_work_item(SHORT, NOW, Some(&owner), &TagFilter::Any).await;
            work += u32::from(fetched.unwrap().is_some());
        }
    };
    tokio::time::timeout(PATIENCE, taken).await.expect("leases run out");
    node.enqueue_for_worker(tagged("a", 2, Some("gpu"))).await.unwrap();
    let announcement = WorkerAnnouncement::new("node".to_owned(), PATIENCE)
        .with_tag_filter(TagFilter::Any)
        .with_activities(vec!["Work".to_owned()]);
    node.announce_worker(&announcement).await.unwrap();
}

#[tokio::test]
async fn every_monitoring_query_of_the_manual_finds_what_it_is_for() {
    let store = Store::live();
    let url = with_roles(&store).await;
    let node = open(&store, &url("app")).await;
    fill(&node).await;
    let reader = connect(&url("reader")).await;
    let sql = statements("Monitoring", &store);
    let (path, queries) = sql.split_first().unwrap();
    reader.batch_execute(path).await.unwrap();
    assert!(queries.len() > 8, "{}", queries.len());
    // Leases of a millisecond: the last one has expired by now or does so at once.
    tokio::time::sleep(SHORT * 5).await;
    for sql in queries {
        let rows = reader.query(sql, &[]).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
        assert!(!rows.is_empty(), "nothing is found by {sql}");
    }
    let counts = reader.query_one(&queries[0], &[]).await.unwrap();
    assert_eq!(counts.get::<_, i64>("timers"), 1);
    assert_eq!(counts.get::<_, i64>("ready"), 1);
    assert_eq!(counts.get::<_, i64>("parked"), 1);
    let waiting = reader.query(&queries[1], &[]).await.unwrap();
    let tags: Vec<Option<String>> = waiting.iter().map(|row| row.get("tag")).collect();
    assert!(tags.contains(&Some("gpu".to_owned())) && tags.contains(&None), "{tags:?}");
    let attempts = reader.query(&queries[2], &[]).await.unwrap();
    assert_eq!(attempts.len(), 2, "a turn and an activity were taken twice");
    let overdue = reader.query(&queries[3], &[]).await.unwrap();
    assert_eq!(overdue.len(), 2, "a turn and an activity wait for a worker");
}
