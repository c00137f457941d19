//! Nodes notify each other.

use std::future::poll_fn;
use std::time::Duration;

use duroxide_core::providers::{ChangeScope, Provider, TagFilter};
use duroxide_pg_server::{Server, Setup};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_postgres::{AsyncMessage, NoTls};

use crate::support::*;

/// Long enough that no safety poll interferes.
const NEVER: Duration = Duration::from_secs(3600);

pub(crate) async fn pair(store: &Store) -> [duroxide_pg::PostgresProvider; 2] {
    let open = || store.builder().with_safety_poll_interval(NEVER).open();
    [open().await.unwrap(), open().await.unwrap()]
}

/// Both nodes have received a notification of each other.
pub(crate) async fn acquainted(store: &Store, nodes: &[duroxide_pg::PostgresProvider; 2]) {
    let mut watch = nodes[1].watch(ChangeScope::Instance("hello")).unwrap();
    let notified = async {
        loop {
            // The first notifications may come before the other node listens.
            let events = vec![started("hello")];
            let sql = store.sql().await;
            sql.run("DELETE FROM $.history WHERE instance_id = 'hello'").await;
            nodes[0].append_with_execution("hello", 1, events).await.unwrap();
            if timeout(Duration::from_millis(50), watch.changed()).await.is_ok() {
                return;
            }
        }
    };
    timeout(PATIENCE, notified).await.unwrap();
    // Consumes the other notifications.
    while timeout(Duration::from_millis(50), watch.changed()).await.is_ok() {}
}

#[tokio::test]
async fn a_message_wakes_a_node_that_waits_for_turns() {
    let store = Store::live();
    let nodes = pair(&store).await;
    acquainted(&store, &nodes).await;
    let (fetched, sent) = tokio::join!(
        nodes[1].fetch_orchestration_item(LEASE, PATIENCE, None),
        nodes[0].enqueue_for_orchestrator(start("a"), None),
    );
    sent.unwrap();
    assert_eq!(fetched.unwrap().expect("a turn").0.instance, "a");
}

/// A node that has just started does not know yet whether there are others. It once sent nothing
/// then, and its first start waited for a safety poll.
#[tokio::test]
async fn the_first_start_of_a_fresh_node_wakes_the_others() {
    let store = Store::live();
    let open = || store.builder().with_safety_poll_interval(NEVER).open();
    let old = open().await.unwrap();
    for number in 0..5 {
        let name = format!("i-{number}");
        let waiting = old.fetch_orchestration_item(LEASE, PATIENCE, None);
        let sent = async {
            let fresh = open().await.unwrap();
            fresh.enqueue_for_orchestrator(start(&name), None).await.unwrap();
            fresh
        };
        let (fetched, _fresh) = tokio::join!(waiting, sent);
        let (item, token, _) = fetched.unwrap().expect("a turn");
        assert_eq!(item.instance, name);
        old.store_turn(commit(&token, vec![started(&name)])).await.unwrap();
    }
}

#[tokio::test]
async fn an_activity_wakes_a_node_that_accepts_its_tag() {
    let store = Store::live();
    let nodes = pair(&store).await;
    acquainted(&store, &nodes).await;
    let gpu = TagFilter::tags(["gpu"]);
    let fetch = nodes[1].fetch_work_item(LEASE, PATIENCE, None, &gpu);
    let (fetched, sent) =
        tokio::join!(fetch, nodes[0].enqueue_for_worker(tagged("a", 1, Some("gpu"))));
    sent.unwrap();
    assert!(fetched.unwrap().is_some());
}

#[tokio::test]
async fn an_activity_with_another_tag_wakes_no_worker() {
    let store = Store::live();
    let nodes = pair(&store).await;
    acquainted(&store, &nodes).await;
    let mut woken = nodes[1].watch(ChangeScope::WorkerQueue).unwrap();
    let mut instance = nodes[1].watch(ChangeScope::Instance("b")).unwrap();
    let gpu = TagFilter::tags(["gpu"]);
    let waiting = nodes[1].fetch_work_item(LEASE, PATIENCE, None, &gpu);
    let others = async {
        nodes[0].enqueue_for_worker(tagged("a", 1, Some("cpu"))).await.unwrap();
        nodes[0].append_with_execution("b", 1, vec![started("b")]).await.unwrap();
        // A later notification has arrived, so that the earlier one has too.
        timeout(PATIENCE, instance.changed()).await.unwrap();
        assert!(timeout(NOW, woken.changed()).await.is_err(), "no worker here accepts it");
    };
    tokio::select! {
        fetched = waiting => panic!("nothing is there: {fetched:?}"),
        () = others => {}
    }
}

#[tokio::test]
async fn a_watch_sees_changes_of_its_instance_on_another_node() {
    let store = Store::live();
    let nodes = pair(&store).await;
    acquainted(&store, &nodes).await;
    let mut watch = nodes[1].watch(ChangeScope::Instance("a")).unwrap();
    create(&nodes[0], "a").await;
    timeout(PATIENCE, watch.changed()).await.unwrap();
}

#[tokio::test]
async fn a_reconnected_listener_wakes_all_waiters() {
    // A server of its own: the test ends every listener on it.
    let server = Server::start(&Setup::default()).unwrap();
    let store = Store::at(&server.url());
    let nodes = pair(&store).await;
    acquainted(&store, &nodes).await;
    let mut watch = nodes[1].watch(ChangeScope::Instance("a")).unwrap();
    assert_eq!(store.sql().await.terminate("LISTEN \"duroxide").await, 2);
    create(&nodes[0], "a").await;
    timeout(PATIENCE, watch.changed()).await.unwrap();
    acquainted(&store, &nodes).await;
}

/// Receives the notifications of a store's nodes.
async fn notifications(store: &Store) -> mpsc::UnboundedReceiver<String> {
    let channel = channel(store).await;
    let (client, mut connection) = tokio_postgres::connect(&store.url, NoTls).await.unwrap();
    let (sender, receiver) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(Ok(message)) = poll_fn(|cx| connection.poll_message(cx)).await {
            if let AsyncMessage::Notification(sent) = message {
                // A test that has ended reads no more.
                drop(sender.send(sent.payload().to_owned()));
            }
        }
    });
    client.batch_execute(&format!("LISTEN {channel}")).await.unwrap();
    // It ends with the test.
    std::mem::forget(client);
    receiver
}

async fn channel(store: &Store) -> String {
    store.sql().await.text("SELECT name FROM $.notification_channel").await
}

#[tokio::test]
async fn many_nodes_do_not_multiply_the_notifications() {
    const NODES: u32 = 200;
    let store = Store::live();
    let node = store.node().await;
    let channel = channel(&store).await;
    let sql = store.sql().await;
    let greet = format!(
        "SELECT pg_notify('{channel}', '[\"' || to_hex(n) || '\",\"h\"]')
         FROM generate_series(1, {NODES}) n"
    );
    // The node listens from its first watch on.
    let _watch = node.watch(ChangeScope::Instance("a")).unwrap();
    let mut received = notifications(&store).await;
    let acquainted = async {
        loop {
            // Sent again if the node did not listen yet. Its response to the question, which comes
            // last, shows that it knows all others.
            sql.run_as_is(&greet).await;
            sql.run_as_is(&format!("SELECT pg_notify('{channel}', '[\"f\",\"?\"]')")).await;
            let response = async { while !received.recv().await.unwrap().contains("\"!\"") {} };
            if timeout(Duration::from_secs(1), response).await.is_ok() {
                return;
            }
        }
    };
    timeout(PATIENCE, acquainted).await.unwrap();
    let started = std::time::Instant::now();
    for number in 0..100 {
        node.enqueue_for_orchestrator(start(&format!("i-{number}")), None).await.unwrap();
    }
    let spacings = started.elapsed().as_millis() / u128::from(NODES);
    let allowed = usize::try_from(spacings).unwrap() + 2;
    let mut sent = 0;
    while received.try_recv().is_ok() {
        sent += 1;
    }
    assert!(sent <= allowed, "{sent} notifications, at most {allowed}");
}

/// Any role may listen on a channel that it can name.
#[tokio::test]
async fn the_channel_is_known_only_to_those_who_may_read_the_tables() {
    let (one, other) = (Store::live(), Store::live());
    drop((one.node().await, other.node().await));
    assert_ne!(channel(&one).await, channel(&other).await);
    let role = format!("r{}", one.schema);
    let sql = one.sql().await;
    sql.run(&format!("CREATE ROLE {role} LOGIN PASSWORD '{role}'")).await;
    sql.run(&format!("GRANT USAGE ON SCHEMA $ TO {role}")).await;
    let stranger = Store { url: one.url_of(&role), ..one };
    let read = stranger.sql().await.try_run("SELECT * FROM $.notification_channel").await;
    assert_eq!(read.unwrap_err().code().unwrap().code(), "42501");
}
