//! `duroxide list`, and the search that other commands share.

use clap::{Args, ValueEnum};
use duroxide::providers::kit::RowError;
use duroxide::providers::{InstanceOrder, InstanceQuery, ListCursor};
use duroxide::query::{Filter, InstanceRow};
use duroxide::{Client, ClientError};
use serde::Serialize;

use crate::failure::{Failure, Result};
use crate::limits;
use crate::output::{
    Column, List, Record, Styled, Tone, duration, iso, shell_word, tone_of_status,
};
use crate::session::Session;

/// List instances, newest first
///
/// A filter is a list of conditions, all of which must hold:
/// `status:failed name:Order* created>-1h error~timeout attr.customer=42 parent:none`.
/// Quote it, so that the shell leaves it alone. An instance whose start still waits in the queue is
/// not listed; `duroxide stranded` and `duroxide why` show it.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Which instances; several arguments are one filter
    #[arg(value_name = "FILTER")]
    filter: Vec<String>,
    /// List at most this many
    #[arg(long, value_name = "N", default_value_t = limits::LISTED_BY_DEFAULT)]
    limit: u64,
    /// List all that match
    #[arg(long, conflicts_with = "limit")]
    all: bool,
    /// By what to sort
    #[arg(long, value_enum, value_name = "KEY", default_value = "created")]
    sort: Sort,
    /// Oldest first, or the first id first
    #[arg(long)]
    ascending: bool,
    /// Go on behind the cursor that a list before has named
    #[arg(long, value_name = "CURSOR")]
    after: Option<String>,
    /// Say what running instances wait for, which reads their histories
    #[arg(long)]
    waiting: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Sort {
    Created,
    Id,
}

/// An instance. Its JSON is that of the library.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(crate) struct Row(InstanceRow);

impl Record for Row {
    const COLUMNS: &'static [Column] = &[
        Column::new("ID"),
        Column::new("NAME"),
        Column::new("STATUS"),
        Column::new("CREATED"),
        Column::new("DURATION"),
        Column::new("ABOUT"),
        Column::wide("VERSION"),
        Column::wide("EXECUTIONS"),
        Column::wide("PARENT"),
        Column::wide("UPDATED"),
        Column::wide("PIN"),
        Column::wide("ATTRIBUTES"),
    ];

    fn cells(&self) -> Vec<Styled> {
        let Self(row) = self;
        let status = row.status.as_str();
        let attributes = row.attributes.iter().map(|(key, value)| format!("{key}={value}"));
        vec![
            row.instance_id.as_str().into(),
            row.orchestration_name.as_str().into(),
            Styled::new(status, tone_of_status(status)),
            Styled::new(iso(row.created_at_ms), Tone::Faint),
            duration(row.duration_ms).into(),
            about(row).into(),
            row.orchestration_version.as_str().into(),
            row.executions.to_string().into(),
            row.parent_instance_id.clone().unwrap_or_default().into(),
            iso(row.updated_at_ms).into(),
            row.pin.clone().unwrap_or_default().into(),
            attributes.collect::<Vec<_>>().join(" ").into(),
        ]
    }

    fn id(&self) -> &str {
        &self.0.instance_id
    }
}

/// What is most worth knowing: why it failed or is suspended, its own status, what it waits for.
fn about(row: &InstanceRow) -> String {
    let waiting = row.waiting_for.as_ref().filter(|all| !all.is_empty());
    let waiting = || waiting.map(|all| format!("waits for {}", all.join(", ")));
    let error = row.error.as_ref().map(|error| error.message.clone());
    error
        .or_else(|| row.suspended_reason.clone())
        .or_else(|| row.custom_status.clone())
        .or_else(waiting)
        .unwrap_or_default()
}

pub(crate) async fn run(args: ListArgs, session: &mut Session) -> Result<()> {
    let filter = parse_filter(&args.filter.join(" "))?;
    let client = session.reader().await?;
    let mut query = InstanceQuery::new(filter).sorted_by(match args.sort {
        Sort::Created => InstanceOrder::Created,
        Sort::Id => InstanceOrder::Id,
    });
    query = if args.ascending { query.ascending() } else { query.descending() };
    if args.waiting {
        query = query.with_waiting();
    }
    if let Some(after) = &args.after {
        query = query.with_after(ListCursor::new(after));
    }
    let mut left = if args.all { u64::MAX } else { args.limit };
    let mut list = List::of::<Row>(&session.out);
    let mut next = None;
    while left > 0 {
        let page_size = u32::try_from(left).unwrap_or(limits::PAGE).min(limits::PAGE);
        let page = client.query_instances(query.clone().with_limit(page_size)).await;
        let page = page.map_err(|error| refused(error, args.after.as_deref()))?;
        let rows: Vec<Row> = page.rows.into_iter().map(Row).collect();
        left = left.saturating_sub(rows.len() as u64);
        list.page(&mut session.out, &rows)?;
        next = page.next;
        let Some(cursor) = next.clone() else { break };
        query = query.with_after(cursor);
    }
    list.finish(&mut session.out)?;
    match next {
        Some(cursor) => session.out.note(&format!(
            "more may match: use --all, --limit N, or go on with --after {}",
            shell_word(cursor.as_str())
        )),
        None => Ok(()),
    }
}

/// A cursor of the command line that no list has named is a wrong usage.
fn refused(error: ClientError, after: Option<&str>) -> Failure {
    let unknown = after.map(|after| RowError::UnknownCursor(ListCursor::new(after)).to_string());
    if let ClientError::Provider(error) = &error
        && Some(&error.message) == unknown.as_ref()
    {
        return Failure::usage(error.message.as_str());
    }
    error.into()
}

/// Reads a filter; the error names the place of the mistake.
pub(crate) fn parse_filter(text: &str) -> Result<Filter> {
    Filter::parse(text).map_err(|error| Failure::usage(error.to_string()))
}

/// What is wanted of all instances that match, fixed at this moment.
pub(crate) async fn matching<T>(
    client: &Client,
    filter: &str,
    wanted: impl Fn(InstanceRow) -> T,
) -> Result<Vec<T>> {
    let filter = parse_filter(filter)?;
    let mut query = InstanceQuery::new(filter).ascending().with_limit(limits::PAGE);
    let mut found = Vec::new();
    loop {
        let page = client.query_instances(query.clone()).await?;
        found.extend(page.rows.into_iter().map(&wanted));
        if found.len() > limits::TARGETS_MAX {
            let most = limits::TARGETS_MAX;
            return Err(Failure::error(format!("more than {most} instances match: narrow it")));
        }
        let Some(next) = page.next else { return Ok(found) };
        query = query.with_after(next);
    }
}
