//! `duroxide stranded`.

use clap::Args;
use duroxide::client::{StrandedItem, StrandedWork, StrandedWorkQuery};
use serde::Serialize;

use crate::failure::Result;
use crate::limits;
use crate::output::{Column, List, Record, Styled, Tone, iso};
use crate::session::Session;

/// List work that waits although no live node can run it, with the reason
#[derive(Debug, Args)]
pub(crate) struct StrandedArgs {
    /// Show at most this many
    #[arg(long, value_name = "N", default_value_t = limits::LISTED_BY_DEFAULT)]
    limit: u64,
}

#[derive(Debug, Serialize)]
struct Stranded {
    instance_id: String,
    /// `turn` or `activity`.
    kind: &'static str,
    execution_id: Option<u64>,
    /// The orchestration or the activity; `null` for a turn that needs no code.
    name: Option<String>,
    version: Option<String>,
    activity_id: Option<u64>,
    tag: Option<String>,
    /// The version of Duroxide that the execution is pinned to.
    pin: Option<String>,
    /// The word that metrics use.
    reason: &'static str,
    message: String,
    waiting_since_ms: u64,
}

impl From<StrandedWork> for Stranded {
    fn from(work: StrandedWork) -> Self {
        let (message, reason) = (work.reason.to_string(), work.reason.word());
        let waiting_since_ms = work.item.waiting_since_ms();
        let mut stranded = Self {
            instance_id: work.item.instance_id().to_owned(),
            kind: "turn",
            execution_id: None,
            name: None,
            version: None,
            activity_id: None,
            tag: None,
            pin: None,
            reason,
            message,
            waiting_since_ms,
        };
        match work.item {
            StrandedItem::Turn(turn) => {
                stranded.execution_id = turn.execution_id;
                stranded.pin = turn.pin.map(|pin| pin.to_string());
                (stranded.name, stranded.version) =
                    turn.code.map_or((None, None), |code| (Some(code.name), code.version));
            }
            StrandedItem::Activity(activity) => {
                stranded.kind = "activity";
                stranded.execution_id = Some(activity.execution_id);
                stranded.activity_id = Some(activity.activity_id);
                stranded.name = Some(activity.activity_name);
                stranded.tag = activity.tag;
            }
            // A kind of a later release has at least its instance and its reason.
            _later => stranded.kind = "other",
        }
        stranded
    }
}

impl Record for Stranded {
    const COLUMNS: &'static [Column] = &[
        Column::new("ID"),
        Column::new("KIND"),
        Column::new("NEEDS"),
        Column::new("REASON"),
        Column::new("SINCE"),
    ];

    fn cells(&self) -> Vec<Styled> {
        let needs = [&self.name, &self.version].into_iter().flatten().cloned();
        vec![
            self.instance_id.as_str().into(),
            self.kind.into(),
            needs.collect::<Vec<_>>().join(" ").into(),
            Styled::new(self.message.clone(), Tone::Warning),
            iso(self.waiting_since_ms).into(),
        ]
    }

    fn id(&self) -> &str {
        &self.instance_id
    }
}

pub(crate) async fn run(args: StrandedArgs, session: &mut Session) -> Result<()> {
    let client = session.reader().await?;
    let mut list = List::of::<Stranded>(&session.out);
    let mut left = args.limit;
    let page_size = |left: u64| u32::try_from(left).unwrap_or(limits::PAGE).min(limits::PAGE);
    let mut query = StrandedWorkQuery::new(page_size(left));
    loop {
        let page = client.list_stranded_work(query.clone()).await?;
        let rows: Vec<Stranded> = page.work.into_iter().map(Stranded::from).collect();
        left = left.saturating_sub(rows.len() as u64);
        list.page(&mut session.out, &rows)?;
        let Some(next) = page.next else { break };
        if left == 0 {
            session.out.note("more work is stranded: raise --limit to see it")?;
            break;
        }
        query = StrandedWorkQuery::new(page_size(left)).with_after(next);
    }
    list.finish(&mut session.out)
}
