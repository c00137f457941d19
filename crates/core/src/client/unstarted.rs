//! Instances whose start waits in the queue, and why.

use std::fmt;

use super::{Client, ClientError};
use crate::limits::UNSERVED_SCAN_PAGE;
use crate::providers::{LiveWorker, NeededCode, WaitingStart, WaitingStartQuery};

/// An instance whose start waits in the queue. Its status is still `NotFound`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnstartedInstance {
    /// The start.
    pub start: WaitingStart,
    /// Why no node has run it.
    pub reason: UnstartedReason,
}

/// Why a start waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnstartedReason {
    /// No node has fetched it yet, or one is running it.
    Queued,
    /// No live node has a handler of this name and version, or a node that has none fetched it.
    NoHandler,
}

impl UnstartedInstance {
    fn new(start: WaitingStart, nodes: &[LiveWorker], now_ms: u64) -> Self {
        // Only a node without the handler releases a start with a delay and counts the attempt.
        let was_released = start.attempt_count > 0 && start.visible_at_ms > now_ms;
        let reason = match was_released || is_stranded(&start, nodes) {
            true => UnstartedReason::NoHandler,
            false => UnstartedReason::Queued,
        };
        Self { start, reason }
    }
}

/// Whether no live node can run a start. Nodes that run no turns do not count; if one does not
/// report which turns it runs, or if there is none, nothing is concluded.
fn is_stranded(start: &WaitingStart, nodes: &[LiveWorker]) -> bool {
    let code = NeededCode::of_start(start);
    let mut runs_turns = false;
    for node in nodes {
        match &node.turns {
            Some(turns) if turns.starts(code.as_ref()) => return false,
            Some(turns) => runs_turns |= turns.runs_any(),
            None => return false,
        }
    }
    runs_turns
}

impl fmt::Display for UnstartedInstance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { start, reason } = self;
        write!(f, "'{}' waits for a node", start.instance_id)?;
        match reason {
            UnstartedReason::Queued => f.write_str(" that fetches its start of")?,
            UnstartedReason::NoHandler => f.write_str(" with")?,
        }
        write!(f, " `{}`", start.orchestration_name)?;
        match &start.orchestration_version {
            Some(version) => write!(f, " in version {version}"),
            None => Ok(()),
        }
    }
}

impl Client {
    /// Instances whose start waits in the queue, by id, `limit` at the most.
    ///
    /// A start whose orchestration no node has registered waits here, and its status is `NotFound`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// # use duroxide::{Client, ClientError};
    /// # async fn example(client: &Client) -> Result<(), ClientError> {
    /// for unstarted in client.list_unstarted_instances(100).await? {
    ///     // Such as: 'order-7' waits for a node with `Odrer`
    ///     println!("{unstarted}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn list_unstarted_instances(
        &self,
        limit: u32,
    ) -> Result<Vec<UnstartedInstance>, ClientError> {
        let mut found: Vec<UnstartedInstance> = Vec::new();
        let mut query = WaitingStartQuery::new(0);
        loop {
            let wanted = limit.saturating_sub(u32::try_from(found.len()).unwrap_or(u32::MAX));
            query.limit = wanted.min(UNSERVED_SCAN_PAGE);
            let page = self.unstarted(query.clone()).await?;
            query.after = page.last().map(|last| last.start.cursor.clone());
            found.extend(page);
            if query.after.is_none() {
                return Ok(found);
            }
        }
    }

    /// Why an instance has not started; `None` if no start of it waits.
    pub async fn explain_unstarted(
        &self,
        instance: &str,
    ) -> Result<Option<UnstartedInstance>, ClientError> {
        Ok(self.unstarted(WaitingStartQuery::of(instance)).await?.into_iter().next())
    }

    async fn unstarted(
        &self,
        query: WaitingStartQuery,
    ) -> Result<Vec<UnstartedInstance>, ClientError> {
        if query.limit == 0 {
            return Ok(Vec::new());
        }
        let admin = self.admin()?;
        let starts = admin.list_waiting_starts(query).await?;
        if starts.is_empty() {
            return Ok(Vec::new());
        }
        let nodes = admin.list_live_workers().await?;
        let now_ms = self.provider().clock().now_ms();
        let explained =
            starts.into_iter().map(|start| UnstartedInstance::new(start, &nodes, now_ms));
        Ok(explained.collect())
    }
}
