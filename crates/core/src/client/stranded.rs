//! Work that waits because no live node can run it.

use std::fmt;
use std::time::Duration;

use super::live_nodes::LiveNodes;
use super::stranded_scan::{Place, scan};
use super::{Client, ClientError, StrandedReason};
use crate::model::ErrorDetails;
use crate::providers::{ListCursor, WaitingTurn, WaitingWork};

/// A request for work that no live node can run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StrandedWorkQuery {
    /// Only work behind this cursor, which is valid during one pass through the list; `None`
    /// begins with the first.
    pub after: Option<ListCursor>,
    /// How many at the most.
    pub limit: u32,
}

impl StrandedWorkQuery {
    /// The first part of the list.
    pub fn new(limit: u32) -> Self {
        Self { after: None, limit }
    }

    /// Only work behind this cursor.
    #[must_use = "returns the changed request"]
    pub fn with_after(mut self, after: ListCursor) -> Self {
        self.after = Some(after);
        self
    }
}

/// A part of the list of work that no live node can run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StrandedWorkPage {
    /// The work: turns first, then activities. A page may be short, or empty, and not the last.
    pub work: Vec<StrandedWork>,
    /// Where the list goes on; `None` at its end.
    pub next: Option<ListCursor>,
    /// Live nodes of older releases that do not report which turns they run. While there are any,
    /// the reason of a turn is [`StrandedReason::Unknown`].
    pub silent_nodes: Vec<String>,
}

/// Work that no live node can run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StrandedWork {
    /// What waits.
    pub item: StrandedItem,
    /// Why.
    pub reason: StrandedReason,
}

/// Something that waits in one of the queues.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StrandedItem {
    /// The next turn of an instance, or its first.
    Turn(WaitingTurn),
    /// An activity.
    Activity(WaitingWork),
}

impl StrandedWork {
    pub(crate) fn new(item: StrandedItem, reason: StrandedReason) -> Self {
        Self { item, reason }
    }

    /// The failure of such work, after it has waited for `limit`.
    pub(crate) fn failure(&self, limit: Duration) -> ErrorDetails {
        let message = format!("{}, for longer than {limit:?}", self.reason);
        ErrorDetails::stranded(&self.item.handler(), message)
    }
}

impl StrandedItem {
    /// The instance that waits.
    pub fn instance_id(&self) -> &str {
        match self {
            Self::Turn(turn) => &turn.instance_id,
            Self::Activity(work) => &work.instance_id,
        }
    }

    /// Since when it waits, milliseconds since the Unix epoch.
    pub fn waiting_since_ms(&self) -> u64 {
        match self {
            Self::Turn(turn) => turn.waiting_since_ms,
            Self::Activity(work) => work.waiting_since_ms,
        }
    }

    /// What a node would need to run it: the orchestration with its version, or the activity with
    /// its tag.
    pub(crate) fn handler(&self) -> String {
        match self {
            Self::Turn(turn) => match &turn.code {
                Some(code) => format!("orchestration `{code}`"),
                None => "no orchestration".to_owned(),
            },
            Self::Activity(work) => match &work.tag {
                Some(tag) => format!("activity `{}` with tag `{tag}`", work.activity_name),
                None => format!("activity `{}`", work.activity_name),
            },
        }
    }
}

impl fmt::Display for StrandedWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { item, reason } = self;
        write!(f, "'{}' waits for {}: {reason}", item.instance_id(), item.handler())
    }
}

impl Client {
    /// Work that waits in the queues although no live node can run it, with the reason.
    ///
    /// A node counts as live until it is shut down, or for 90 seconds after its death. Turns that
    /// become visible later are not listed, nor are suspended instances. Of the activities of a
    /// tag that is served, the oldest 10 000 are examined: what no worker claims becomes oldest.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use duroxide::client::StrandedWorkQuery;
    ///
    /// # use duroxide::{Client, ClientError};
    /// # async fn example(client: &Client) -> Result<(), ClientError> {
    /// let mut query = StrandedWorkQuery::new(100);
    /// loop {
    ///     let page = client.list_stranded_work(query.clone()).await?;
    ///     for stranded in &page.work {
    ///         // Such as: 'order-7' waits for orchestration `Order 2.0.0`: live nodes have
    ///         // registered it only in version 1.0.0
    ///         println!("{stranded}");
    ///     }
    ///     let Some(next) = page.next else { break };
    ///     query = query.with_after(next);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn list_stranded_work(
        &self,
        query: StrandedWorkQuery,
    ) -> Result<StrandedWorkPage, ClientError> {
        let place = Place::behind(query.after.as_ref())
            .map_err(|message| ClientError::InvalidInput { message })?;
        let admin = self.admin()?;
        let nodes = LiveNodes::new(admin.list_live_workers().await?);
        let mut page = StrandedWorkPage {
            work: Vec::new(),
            next: None,
            silent_nodes: nodes.silent().to_vec(),
        };
        if query.limit > 0 {
            let found = scan(admin, &nodes, place, query.limit).await?;
            page.work = found.work;
            page.next = found.next.map(|place| place.cursor());
        }
        Ok(page)
    }
}
