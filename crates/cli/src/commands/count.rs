//! `duroxide count`.

use clap::Args;
use duroxide::providers::InstanceCount;
use serde::Serialize;

use super::list;
use crate::failure::Result;
use crate::limits;
use crate::output::Format;
use crate::session::Session;

/// Count instances, exactly up to a limit
///
/// The filter is that of `duroxide list`.
#[derive(Debug, Args)]
pub(crate) struct CountArgs {
    /// Which instances; several arguments are one filter
    #[arg(value_name = "FILTER")]
    filter: Vec<String>,
    /// Stop to count at this number
    #[arg(long, value_name = "N", default_value_t = limits::COUNTED_BY_DEFAULT)]
    limit: u64,
}

#[derive(Debug, Serialize)]
struct Count {
    count: u64,
    /// Whether these are all.
    exact: bool,
}

pub(crate) async fn run(args: CountArgs, session: &mut Session) -> Result<()> {
    let filter = list::parse_filter(&args.filter.join(" "))?;
    let client = session.reader().await?;
    let counted = client.count_instances_up_to(&filter, args.limit).await?;
    let count =
        Count { count: counted.counted(), exact: matches!(counted, InstanceCount::Exactly(_)) };
    match session.out.format() {
        Format::Json | Format::Jsonl => session.out.json(&count),
        Format::Table | Format::Wide | Format::Ids => session.out.line(&counted.to_string()),
    }
}
