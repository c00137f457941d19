//! Healthy work goes on beside rows that were changed; `cargo xtask fuzz` makes long runs.

use std::time::{Duration, Instant};

use duroxide_fuzz::rows::{PostgresRows, RowStore, SqliteRows, Tested};

/// Rounds of the short run.
const ROUNDS: u64 = 40;

/// No further round begins after this time, on a slow machine.
const TIME_MAX: Duration = Duration::from_secs(12);

async fn rounds(name: &str, store: impl RowStore) {
    let tested = Tested::start(store).await.unwrap();
    let started = Instant::now();
    let (mut changed, mut refused, mut rounds) = (0, 0, 0);
    while rounds < ROUNDS && started.elapsed() < TIME_MAX {
        rounds += 1;
        let round = tested.round(rounds).await;
        let round = round.unwrap_or_else(|reason| panic!("{name}, seed {rounds}: {reason}"));
        (changed, refused) = (changed + round.changed, refused + round.refused);
    }
    tested.stop().await.unwrap();
    println!("{name}: {rounds} rounds, {changed} rows changed, {refused} changes refused by SQL");
    assert!(2 * changed > rounds, "{changed} changes in {rounds} rounds");
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_rows_of_sqlite_disturb_only_their_instance() {
    rounds("sqlite", SqliteRows::new().await.unwrap()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_rows_of_postgres_disturb_only_their_instance() {
    let url = duroxide_pg_server::shared_url().unwrap();
    rounds("postgres", PostgresRows::new(&url).await.unwrap()).await;
}
