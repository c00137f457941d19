//! Rounds on stores whose rows are changed.

use std::time::{Duration, Instant};

use duroxide_fuzz::rows::{PostgresRows, RowStore, SqliteRows, Tested};

use crate::args::Args;

/// The stores, as targets.
pub(crate) const STORES: &[&str] = &["sqlite_rows", "postgres_rows"];

/// Rounds on one store, which the damage of each makes larger.
const ROUNDS_MAX: u64 = 20;

pub(crate) fn run(args: &Args, time: Duration) -> Result<(), String> {
    let built = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let executor = built.map_err(|error| error.to_string())?;
    executor.block_on(async {
        if args.wants(STORES[0]) {
            rounds(STORES[0], args, time, async || SqliteRows::new().await).await?;
        }
        if args.wants(STORES[1]) {
            let Some(url) = &args.postgres else {
                println!("{}: not run, --postgres names no server", STORES[1]);
                return Ok(());
            };
            rounds(STORES[1], args, time, async || PostgresRows::new(url).await).await?;
        }
        Ok(())
    })
}

async fn rounds<S: RowStore>(
    name: &str,
    args: &Args,
    time: Duration,
    open: impl AsyncFn() -> Result<S, String>,
) -> Result<(), String> {
    let started = Instant::now();
    let (mut seed, mut changed, mut refused) = (args.seed.unwrap_or(args.first_seed), 0, 0);
    let is_over = |seed| {
        let is_one = args.seed.is_some_and(|only| seed > only);
        is_one || started.elapsed() >= time
    };
    while !is_over(seed) {
        let tested = Tested::start(open().await?).await?;
        for _ in 0..ROUNDS_MAX {
            if is_over(seed) {
                break;
            }
            let round = tested.round(seed).await;
            let round = round.map_err(|reason| format!("{name}, seed {seed}: {reason}"))?;
            (changed, refused) = (changed + round.changed, refused + round.refused);
            seed += 1;
        }
        tested.stop().await?;
    }
    let rounds = seed - args.seed.unwrap_or(args.first_seed);
    println!("{name}: {rounds} rounds, {changed} rows changed, {refused} changes refused by SQL");
    Ok(())
}
