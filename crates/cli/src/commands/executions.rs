//! `duroxide executions`.

use clap::Args;
use serde::Serialize;

use crate::failure::Result;
use crate::limits;
use crate::output::{Column, List, Record, Styled, duration, iso, tone_of_status};
use crate::session::Session;

/// List the executions of an instance, the latest last
#[derive(Debug, Args)]
pub(crate) struct ExecutionsArgs {
    /// The instance
    id: String,
}

#[derive(Debug, Serialize)]
struct Execution {
    instance_id: String,
    execution_id: u64,
    status: String,
    started_at_ms: u64,
    completed_at_ms: Option<u64>,
    duration_ms: Option<u64>,
    event_count: usize,
    output: Option<String>,
}

impl Record for Execution {
    const COLUMNS: &'static [Column] = &[
        Column::new("EXECUTION"),
        Column::new("STATUS"),
        Column::new("STARTED"),
        Column::new("DURATION"),
        Column::new("EVENTS"),
        Column::wide("COMPLETED"),
        Column::wide("OUTPUT"),
    ];

    fn cells(&self) -> Vec<Styled> {
        vec![
            self.execution_id.to_string().into(),
            Styled::new(self.status.clone(), tone_of_status(&self.status)),
            iso(self.started_at_ms).into(),
            self.duration_ms.map(duration).unwrap_or_default().into(),
            self.event_count.to_string().into(),
            self.completed_at_ms.map(iso).unwrap_or_default().into(),
            self.output.clone().unwrap_or_default().into(),
        ]
    }

    fn id(&self) -> &str {
        &self.instance_id
    }
}

pub(crate) async fn run(args: ExecutionsArgs, session: &mut Session) -> Result<()> {
    let client = session.reader().await?;
    client.get_instance_info(&args.id).await?;
    let mut list = List::of::<Execution>(&session.out);
    let numbers = client.list_executions(&args.id).await?;
    for part in numbers.chunks(limits::PAGE as usize) {
        let mut page = Vec::with_capacity(part.len());
        for number in part {
            let info = client.get_execution_info(&args.id, *number).await?;
            page.push(Execution {
                instance_id: args.id.clone(),
                execution_id: info.execution_id,
                status: info.status.to_lowercase(),
                started_at_ms: info.started_at,
                completed_at_ms: info.completed_at,
                duration_ms: info.completed_at.map(|end| end.saturating_sub(info.started_at)),
                event_count: info.event_count,
                output: info.output,
            });
        }
        list.page(&mut session.out, &page)?;
    }
    list.finish(&mut session.out)
}
