//! Measures pages and counts of queries.

use std::time::Instant;

use bench_harness::stats;
use duroxide::Client;
use duroxide::providers::{InstanceCount, InstanceOrder, InstancePage, InstanceQuery};
use duroxide::query::Filter;

use super::cases::{self, Case};
use crate::heavy::text;

/// Rows of a page: as many as `duroxide list` shows.
const PAGE: u32 = 100;

/// Runs of each query.
const RUNS: usize = 7;

/// Pages between the first and the one in the middle.
const TURNED: usize = 3;

/// One kind of page.
struct Kind {
    title: &'static str,
    order: InstanceOrder,
    descending: bool,
}

const KINDS: [Kind; 4] = [
    Kind { title: "newest", order: InstanceOrder::Created, descending: true },
    Kind { title: "oldest", order: InstanceOrder::Created, descending: false },
    Kind { title: "id", order: InstanceOrder::Id, descending: false },
    Kind { title: "id, last first", order: InstanceOrder::Id, descending: true },
];

/// Measures every case; the table, and the longest median of a page that an index finds.
pub(super) async fn measure(client: &Client, unit: u64) -> Result<(String, f64), String> {
    let titles: Vec<&str> = KINDS.iter().map(|kind| kind.title).collect();
    let mut table = format!(
        "| filter | rows | {} | next | previous | longest | count | |\n|{}\n",
        titles.join(" | "),
        "---|".repeat(KINDS.len() + 7)
    );
    let mut worst: f64 = 0.0;
    for case in cases::all(unit) {
        let (row, slowest) = measure_case(client, &case).await?;
        eprintln!("bench: {row}");
        table.push_str(&row);
        table.push('\n');
        if case.is_indexed {
            worst = worst.max(slowest);
        }
    }
    Ok((table, worst))
}

async fn measure_case(client: &Client, case: &Case) -> Result<(String, f64), String> {
    let filter = Filter::parse(&case.filter).map_err(text)?;
    let mut cells = Vec::new();
    let mut times = Times::default();
    let mut shown = 0;
    let mut is_partial = false;
    for kind in &KINDS {
        let query = InstanceQuery::new(filter.clone()).sorted_by(kind.order).with_limit(PAGE);
        let query = if kind.descending { query.descending() } else { query.ascending() };
        let (page, median) = times.measure(client, &query).await?;
        cells.push(format!("{median:.1}"));
        shown = shown.max(page.rows.len());
        is_partial |= page.is_partial;
    }
    for median in turned(client, &filter, &mut times).await? {
        cells.push(median.map_or_else(String::new, |median| format!("{median:.1}")));
    }
    let (count, counting) = count(client, &filter).await?;
    let remark = if is_partial { "partial" } else { "" };
    let row = format!(
        "| `{}` | {shown} | {} | {:.1} | {count} in {counting:.1} | {remark} |",
        case.filter,
        cells.join(" | "),
        times.longest
    );
    Ok((row, times.slowest))
}

/// Pages in the middle, forwards and backwards.
async fn turned(
    client: &Client,
    filter: &Filter,
    times: &mut Times,
) -> Result<[Option<f64>; 2], String> {
    let first = InstanceQuery::new(filter.clone()).with_limit(PAGE);
    let mut page = client.query_instances(first.clone()).await.map_err(text)?;
    for _ in 1..TURNED {
        let Some(next) = page.next else { return Ok([None, None]) };
        page = client.query_instances(first.clone().with_after(next)).await.map_err(text)?;
    }
    let Some(next) = page.next else { return Ok([None, None]) };
    let (page, forwards) = times.measure(client, &first.clone().with_after(next)).await?;
    let Some(previous) = page.previous else { return Ok([Some(forwards), None]) };
    let (_, backwards) = times.measure(client, &first.with_before(previous)).await?;
    Ok([Some(forwards), Some(backwards)])
}

/// Times of a case, in milliseconds.
#[derive(Debug, Default)]
struct Times {
    /// The longest run, the first one included.
    longest: f64,
    /// The longest median.
    slowest: f64,
}

impl Times {
    async fn measure(
        &mut self,
        client: &Client,
        query: &InstanceQuery,
    ) -> Result<(InstancePage, f64), String> {
        let mut times = Vec::new();
        let mut last = None;
        for _ in 0..RUNS {
            let begun = Instant::now();
            last = Some(client.query_instances(query.clone()).await.map_err(text)?);
            times.push(begun.elapsed().as_secs_f64() * 1e3);
        }
        let median = stats::median(&times);
        self.longest = times.iter().copied().fold(self.longest, f64::max);
        self.slowest = self.slowest.max(median);
        last.map(|page| (page, median)).ok_or_else(|| "no run".to_owned())
    }
}

async fn count(client: &Client, filter: &Filter) -> Result<(InstanceCount, f64), String> {
    let begun = Instant::now();
    let count = client.count_instances(filter).await.map_err(text)?;
    Ok((count, begun.elapsed().as_secs_f64() * 1e3))
}
