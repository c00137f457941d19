//! Servers that pause, refuse writes, restart, crash, or are replaced by their replica while
//! workflows run on them.

use std::process::Command;
use std::time::Duration;

use duroxide_pg_server::{Server, Setup};
use tokio_postgres::NoTls;

use super::journey::Journey;
use crate::support::*;

/// How long trouble lasts: longer than a lease.
const TROUBLE: Duration = Duration::from_millis(2_500);

/// Commits wait for the disk.
fn durable() -> Setup {
    Setup { durable: true, ..Setup::default() }
}

fn kill(signal: &str, processes: &[String]) {
    assert!(Command::new("kill").arg(signal).args(processes).status().unwrap().success());
}

/// The server and the processes that it has started.
fn processes(server: &Server) -> Vec<String> {
    let id = server.id().unwrap().to_string();
    let children = Command::new("ps").args(["-o", "pid=", "--ppid", &id]).output().unwrap();
    let children = String::from_utf8(children.stdout).unwrap();
    let children = children.split_whitespace().map(str::to_owned);
    std::iter::once(id.clone()).chain(children).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workflows_survive_a_paused_server() {
    let server = Server::start(&durable()).unwrap();
    let journey = Journey::begin(&Store::at(&server.url())).await;
    let stopped = processes(&server);
    kill("-STOP", &stopped);
    tokio::time::sleep(TROUBLE).await;
    kill("-CONT", &stopped);
    journey.end("paused").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workflows_survive_a_time_without_writes() {
    let server = Server::start(&durable()).unwrap();
    let store = Store::at(&server.url());
    let journey = Journey::begin(&store).await;
    let sql = store.sql().await;
    let read_only = async |is_on: &str| {
        sql.run_as_is("SET default_transaction_read_only = off").await;
        let alter = format!("ALTER SYSTEM SET default_transaction_read_only = {is_on}");
        sql.run_as_is(&alter).await;
        sql.run_as_is("SELECT pg_reload_conf()").await;
    };
    read_only("on").await;
    tokio::time::sleep(TROUBLE).await;
    read_only("off").await;
    journey.end("read-only").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workflows_survive_restarts_and_crashes() {
    let mut server = Server::start(&durable()).unwrap();
    let journey = Journey::begin(&Store::at(&server.url())).await;
    let restarted = tokio::task::spawn_blocking(move || {
        server.restart().unwrap();
        server.crash().unwrap();
        server
    });
    let _server = restarted.await.unwrap();
    journey.end("restarted and crashed").await;
}

/// The primary dies for good. Its commits waited for the replica, which takes over.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acknowledged_work_survives_a_failover_to_a_synchronous_replica() {
    let primary = Server::start(&durable()).unwrap();
    let replica = primary.replica(&durable()).unwrap();
    let (of_primary, of_replica) = (Store::at(&primary.url()), Store::at(&replica.url()));
    let sql = of_primary.sql().await;
    sql.run_as_is("ALTER SYSTEM SET synchronous_standby_names = '*'").await;
    sql.run_as_is("SELECT pg_reload_conf()").await;
    let is_synchronous = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'";
    let synchronous = async { while sql.count(is_synchronous).await == 0 {} };
    tokio::time::timeout(PATIENCE, synchronous).await.expect("the replica follows");

    let hosts = format!("127.0.0.1:{},127.0.0.1:{}", primary.port(), replica.port());
    let url = primary.url().replace(&format!("127.0.0.1:{}", primary.port()), &hosts);
    let url = format!("{url}?target_session_attrs=read-write&connect_timeout=1");
    let journey = Journey::begin(&Store { url, ..of_primary }).await;
    kill("-KILL", &[primary.id().unwrap().to_string()]);
    let (promoting, connection) = tokio_postgres::connect(&of_replica.url, NoTls).await.unwrap();
    tokio::spawn(connection);
    promoting.batch_execute("SELECT pg_promote()").await.unwrap();
    journey.end("failed over").await;
}
