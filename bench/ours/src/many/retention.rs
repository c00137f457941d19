//! Deletes the finished instances by a retention policy, while small commits go on beside it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bench_harness::postgres::schema;
use bench_harness::stats;
use duroxide::client::{RetentionPolicy, RetentionRule};
use duroxide::providers::InstanceQuery;
use duroxide::query::Filter;
use duroxide::{Client, RuntimeOptions};
use rusqlite::Connection;

use super::command::Place;
use super::population::{self, UNIT};
use crate::floor::connect_to;
use crate::heavy::{Store, text};

/// What ended longer ago is deleted. The copies ended earlier, but for the first.
const KEPT: Duration = Duration::from_secs(60 * 60);

/// Between two looks whether all is deleted.
const POLL: Duration = Duration::from_secs(1);
const DELETION_MAX: Duration = Duration::from_secs(3_600);

/// How long commits are measured without a deletion.
const QUIET: Duration = Duration::from_secs(10);

/// The pause between two commits: they shall not be the load.
const PAUSE: Duration = Duration::from_millis(5);

/// Deletes, fills again, and compares the sizes.
pub(super) async fn measure(place: &Place<'_>) -> Result<String, String> {
    let mut sizes = vec![("full", size(place).await?)];
    let provider = place.store.open(place.folder, place.server).await?;
    let client = Client::new(Arc::clone(&provider));
    let policy = RetentionPolicy::new([RetentionRule::all().keep_for(KEPT)]).with_interval(POLL);
    let idle = population::node(&provider, RuntimeOptions::default()).await;
    let quiet = Commits::start(&client, "quiet").await?;
    tokio::time::sleep(QUIET).await;
    let quiet = quiet.stop().await?;
    population::stop(idle).await;
    let before = finished(&client).await?;
    let options = RuntimeOptions::default().with_retention(policy);
    let begun = Instant::now();
    let node = population::node(&provider, options).await;
    let beside = Commits::start(&client, "beside").await?;
    until_deleted(&client).await?;
    let seconds = begun.elapsed().as_secs_f64();
    let beside = beside.stop().await?;
    population::stop(node).await;
    provider.close().await.map_err(text)?;
    drop((client, provider));
    sizes.push(("deleted", size(place).await?));
    // As many as before, with other ids.
    let units = place.instances / UNIT;
    place.fill(units, units).await?;
    sizes.push(("filled again", size(place).await?));
    let sizes = sizes.into_iter().map(|(when, size)| format!("| {when} | {size} |\n"));
    Ok(format!(
        "\n{before} finished instances deleted in {seconds:.0} s: {rate:.0} a second\n\n\
         | commits | number | median | 99 % | longest | over 20 ms |\n|---|---|---|---|---|---|\n\
         | without deletions | {quiet} |\n| beside them | {beside} |\n\n\
         | store | size |\n|---|---|\n{sizes}",
        rate = before as f64 / seconds,
        sizes = sizes.collect::<String>()
    ))
}

const FINISHED: &str = "status:completed,failed created<-70m -name:duroxide.*";

/// How many there are.
async fn finished(client: &Client) -> Result<u64, String> {
    let filter = Filter::parse(FINISHED).map_err(text)?;
    let count = client.count_instances_up_to(&filter, u64::MAX - 1).await.map_err(text)?;
    Ok(count.counted())
}

async fn until_deleted(client: &Client) -> Result<(), String> {
    let filter = Filter::parse(FINISHED).map_err(text)?;
    let query = InstanceQuery::new(filter).ascending().with_limit(1);
    let begun = Instant::now();
    loop {
        let page = client.query_instances(query.clone()).await.map_err(text)?;
        if page.rows.is_empty() && !page.is_partial {
            return Ok(());
        }
        if begun.elapsed() > DELETION_MAX {
            return Err("the deletion does not end".to_owned());
        }
        tokio::time::sleep(POLL).await;
    }
}

/// Messages to one instance, one after another: each is a commit, and the next waits for it.
struct Commits {
    is_over: Arc<AtomicBool>,
    task: tokio::task::JoinHandle<Result<Vec<f64>, String>>,
}

impl Commits {
    async fn start(client: &Client, id: &str) -> Result<Self, String> {
        client.start_orchestration(id, "Signup", "wait").await.map_err(text)?;
        let is_over = Arc::new(AtomicBool::new(false));
        let (over, client, id) = (Arc::clone(&is_over), client.clone(), id.to_owned());
        let task = tokio::spawn(async move {
            let mut times = Vec::new();
            while !over.load(Ordering::Relaxed) {
                let begun = Instant::now();
                client.enqueue_event(id.as_str(), "unread", "").await.map_err(text)?;
                times.push(begun.elapsed().as_secs_f64() * 1e3);
                tokio::time::sleep(PAUSE).await;
            }
            Ok(times)
        });
        Ok(Self { is_over, task })
    }

    /// Cells of a table, in milliseconds.
    async fn stop(self) -> Result<String, String> {
        self.is_over.store(true, Ordering::Relaxed);
        let times = self.task.await.map_err(text)??;
        let longest = times.iter().copied().fold(0.0, f64::max);
        let over = times.iter().filter(|time| **time > 20.0).count();
        Ok(format!(
            "{} | {:.1} ms | {:.1} ms | {longest:.0} ms | {over}",
            times.len(),
            stats::median(&times),
            stats::quantile(&times, 0.99)
        ))
    }
}

/// The size of the file or of the tables, and how much of it is free.
async fn size(place: &Place<'_>) -> Result<String, String> {
    match (place.store, place.server) {
        (Store::Postgres, Some(server)) => size_of_tables(server, &schema(place.folder)).await,
        _ => size_of_file(&place.folder.join("bench.db")).map_err(text),
    }
}

fn size_of_file(path: &Path) -> rusqlite::Result<String> {
    let conn = Connection::open(path)?;
    let number = |pragma: &str| -> rusqlite::Result<i64> {
        conn.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0))
    };
    let (size, pages, free) =
        (number("page_size")?, number("page_count")?, number("freelist_count")?);
    Ok(format!("{} MB, {} MB of it free", size * pages / 1_000_000, size * free / 1_000_000))
}

async fn size_of_tables(server: &str, schema: &str) -> Result<String, String> {
    let client = connect_to(server, schema).await?;
    let sql = "SELECT sum(pg_total_relation_size(c.oid))::BIGINT FROM pg_class c
         WHERE c.relnamespace = $1::TEXT::regnamespace AND c.relkind = 'r'";
    let row = client.query_one(sql, &[&schema]).await.map_err(text)?;
    Ok(format!("{} MB", row.get::<_, i64>(0) / 1_000_000))
}
