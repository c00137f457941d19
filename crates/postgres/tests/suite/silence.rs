//! Servers and connections that stay open and send nothing, and sessions that no longer fit.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use duroxide_core::EventKind;
use duroxide_core::providers::{ChangeScope, Provider, ProviderError};
use duroxide_pg::{Migrations, PostgresProvider};
use duroxide_pg_server::{Server, Setup};
use tokio::net::TcpListener;
use tokio::time::timeout;

use crate::support::*;
use crate::trouble::proxied;

/// A statement timeout that bounds the waits of a test, and that a busy server keeps.
const QUICK: Duration = Duration::from_secs(1);

async fn quick_node(store: &Store) -> PostgresProvider {
    // The statements that create the tables take longer.
    drop(store.node().await);
    store.builder().with_statement_timeout(QUICK).with_connections(1).open().await.unwrap()
}

/// The processes that serve the nodes of a test.
async fn backends(store: &Store) -> Vec<String> {
    let sql = "SELECT string_agg(pid::TEXT, ' ') FROM pg_stat_activity
         WHERE application_name = 'duroxide'";
    store.sql().await.text(sql).await.split(' ').map(str::to_owned).collect()
}

/// Stopped processes, which continue when this is dropped.
struct Stopped(Vec<String>);

impl Stopped {
    fn stop(processes: Vec<String>) -> Self {
        signal("-STOP", &processes);
        Self(processes)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        signal("-CONT", &self.0);
    }
}

fn signal(signal: &str, processes: &[String]) {
    assert!(Command::new("kill").arg(signal).args(processes).status().unwrap().success());
}

#[tokio::test]
async fn stopped_backends_are_replaced_and_their_commits_are_settled() {
    let server = Server::start(&Setup::default()).unwrap();
    let store = Store::at(&server.url());
    let node = quick_node(&store).await;
    create(&node, "a").await;
    node.enqueue_for_orchestrator(crate::support::signal("a", "1"), None).await.unwrap();
    let fetched = turn(&node).await;
    let stopped = Stopped::stop(backends(&store).await);
    let next =
        commit(&fetched.lock_token, vec![heard("a", 2)]).with_activities(vec![activity("a", 2)]);
    let committed = timeout(PATIENCE, node.store_turn(next)).await.expect("a deadline");
    assert!(committed.unwrap().incarnation.is_some());
    // The stopped backends execute what they received; its outcome is settled already.
    drop(stopped);
    let idle = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'duroxide'
         AND (state <> 'idle' OR query LIKE '%commit_turns%')";
    let done = async { while store.count(idle).await > 1 {} };
    timeout(PATIENCE, done).await.expect("they end");
    assert_eq!(node.read("a").await.unwrap().len(), 2);
    assert_eq!(store.count("SELECT count(*) FROM $.worker_queue").await, 1);
}

#[tokio::test]
async fn a_stopped_server_is_an_error_in_time_and_works_again_afterwards() {
    let server = Server::start(&Setup::default()).unwrap();
    let store = Store::at(&server.url());
    let node = quick_node(&store).await;
    create(&node, "a").await;
    let mut processes = backends(&store).await;
    processes.push(server.id().unwrap().to_string());
    let stopped = Stopped::stop(processes);
    let error = timeout(PATIENCE, node.read("a")).await.expect("a deadline").unwrap_err();
    assert!(error.is_retryable(), "{error}");
    let place = format!("127.0.0.1:{}", server.port());
    assert!(error.message.contains(&place), "{error}");
    drop(stopped);
    assert_eq!(until_done(|| node.read("a")).await.len(), 1);
}

#[tokio::test]
async fn a_message_without_a_response_is_sent_once() {
    let (proxy, store) = proxied("held on the way").await;
    let node = quick_node(&store).await;
    create(&node, "a").await;
    proxy.deafen(true);
    let message = crate::support::signal("a", "held on the way");
    let sent = timeout(PATIENCE, node.enqueue_for_orchestrator(message, None)).await;
    // The connection is given up; another one shows that the message was stored.
    sent.expect("a deadline").unwrap();
    assert_eq!(store.count("SELECT count(*) FROM $.orchestrator_queue").await, 1);
}

#[tokio::test]
async fn a_request_lost_on_the_way_is_given_up() {
    let (proxy, store) = proxied("held on the way").await;
    let node = quick_node(&store).await;
    create(&node, "a").await;
    proxy.deafen(true);
    let seeded = event(
        "a",
        2,
        EventKind::ExternalEvent { name: "held on the way".to_owned(), data: String::new() },
    );
    let error = timeout(PATIENCE, node.append_with_execution("a", 1, vec![seeded])).await;
    let error: ProviderError = error.expect("a deadline").unwrap_err();
    assert!(error.is_retryable() && error.message.starts_with("No response within"), "{error}");
    // The connection is gone; the next call opens another.
    assert_eq!(node.read("a").await.unwrap().len(), 2);
}

/// A port that accepts connections and never says anything, and how many it has accepted.
async fn silent_port() -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let accepted = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&accepted);
    tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((connection, _)) = listener.accept().await {
            open.push(connection);
            counter.fetch_add(1, Ordering::SeqCst);
        }
    });
    (port, accepted)
}

#[tokio::test]
async fn a_silent_first_host_delays_only_the_first_connection() {
    let store = Store::live();
    let (port, accepted) = silent_port().await;
    let url = store.url.replace("127.0.0.1:", &format!("127.0.0.1:{port},127.0.0.1:"));
    let url = format!("{url}?connect_timeout=1&target_session_attrs=read-write");
    let node = Store { url, ..store }.node().await;
    // Opening makes seven connections.
    assert_eq!(accepted.load(Ordering::SeqCst), 1);
    create(&*node, "a").await;
}

#[tokio::test]
async fn an_unreachable_server_is_named_with_each_host_and_port() {
    let (port, _) = silent_port().await;
    let url = format!("postgres://u:hidden@127.0.0.1:1,127.0.0.1:{port}/d?connect_timeout=1");
    let error = PostgresProvider::new(&url).await.unwrap_err().to_string();
    assert!(error.contains("127.0.0.1:1: "), "{error}");
    assert!(error.contains(&format!("127.0.0.1:{port}: no response within 1s")), "{error}");
    assert!(!error.contains("hidden"), "{error}");
}

#[tokio::test]
async fn sessions_from_a_time_without_writes_are_replaced() {
    let server = Server::start(&Setup::default()).unwrap();
    let store = Store::at(&server.url());
    drop(store.node().await);
    let sql = store.sql().await;
    sql.run("ALTER DATABASE postgres SET default_transaction_read_only = on").await;
    let node = store.builder().with_migrations(Migrations::Verify).open().await.unwrap();
    let error = node.enqueue_for_orchestrator(start("a"), None).await.unwrap_err();
    assert!(error.is_retryable() && error.message.contains("25006"), "{error}");
    sql.run(
        "SET default_transaction_read_only = off; \
             ALTER DATABASE postgres RESET default_transaction_read_only",
    )
    .await;
    until_done(|| node.enqueue_for_orchestrator(start("a"), None)).await;
    assert_eq!(until_done(|| node.fetch_orchestration_items(wish(1))).await.len(), 1);
}

#[tokio::test]
async fn a_session_whose_cached_plan_no_longer_fits_is_replaced() {
    let store = Store::live();
    let node = store.builder().with_connections(1).open().await.unwrap();
    create(&node, "a").await;
    node.get_custom_status("a", 0).await.unwrap();
    let sql = store.sql().await;
    sql.run("ALTER TABLE $.instances ALTER COLUMN custom_status TYPE VARCHAR").await;
    // The first call may report the error, depending on whether it is repeated.
    drop(node.get_custom_status("a", 0).await);
    node.get_custom_status("a", 0).await.unwrap();
}

/// What a session remembers may be the reason of an error: its prepared statements are gone, or it
/// was opened while the server did not accept writes. Such a session was kept for ever.
#[tokio::test]
async fn a_session_that_reports_what_it_remembers_is_closed() {
    for state in ["25006", "26000", "0A000"] {
        let store = Store::live();
        let node = store.builder().with_connections(1).with_writers(1).open().await.unwrap();
        let sql = store.sql().await;
        // A sequence keeps its value although the transaction fails.
        sql.run(&format!(
            "CREATE SEQUENCE $.session;
             CREATE FUNCTION $.broken() RETURNS trigger LANGUAGE plpgsql AS
                 'BEGIN
                      PERFORM setval(''$.session'', pg_backend_pid());
                      RAISE EXCEPTION ''on purpose'' USING ERRCODE = ''{state}'';
                  END';
             CREATE TRIGGER broken BEFORE INSERT ON $.orchestrator_queue FOR EACH ROW
                 EXECUTE FUNCTION $.broken()"
        ))
        .await;
        let error = node.enqueue_for_orchestrator(start("a"), None).await.unwrap_err();
        assert!(error.is_retryable() && error.message.contains(state), "{error}");
        let pid = sql.count("SELECT last_value FROM $.session").await;
        let open = format!("SELECT count(*) FROM pg_stat_activity WHERE pid = {pid}");
        let closed = async {
            while sql.count(&open).await > 0 {
                node.enqueue_for_orchestrator(start("a"), None).await.unwrap_err();
            }
        };
        timeout(PATIENCE, closed).await.expect("the session is not used again");
        sql.run("DROP FUNCTION $.broken() CASCADE").await;
        node.enqueue_for_orchestrator(start("a"), None).await.unwrap();
    }
}

#[tokio::test]
async fn a_deaf_listener_is_replaced() {
    let (proxy, store) = proxied("LISTEN").await;
    let open = || {
        store
            .builder()
            .with_safety_poll_interval(Duration::from_secs(3600))
            .with_greeting_interval(Duration::from_secs(1))
            .open()
    };
    let nodes = [open().await.unwrap(), open().await.unwrap()];
    crate::wake::acquainted(&store, &nodes).await;
    proxy.deafen(true);
    let mut watch = nodes[1].watch(ChangeScope::Instance("a")).unwrap();
    create(&nodes[0], "a").await;
    proxy.deafen(false);
    // The notification is lost for good; only a new listener wakes the watch.
    timeout(PATIENCE, watch.changed()).await.expect("a new listener");
    crate::wake::acquainted(&store, &nodes).await;
}
