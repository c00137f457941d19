//! Work that no live worker serves.

use std::collections::HashSet;

use super::{Client, ClientError};
use crate::limits::{UNSERVED_SCAN_MAX, UNSERVED_SCAN_PAGE};
use crate::model::syscall;
use crate::providers::{LiveWorker, ProviderAdmin, TagFilter, WaitingWork, WaitingWorkQuery};

/// A waiting activity that no live worker serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnservedWork {
    /// The activity.
    pub work: WaitingWork,
    /// Why no live worker claims it.
    pub reason: UnservedReason,
}

/// Why no live worker claims an activity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnservedReason {
    /// No live worker takes activities with this tag, or without one.
    NoWorkerForTag,
    /// Live workers take the tag, but none of them has a handler of this name.
    NoHandler,
}

impl Client {
    /// Nodes that run activities at present, by their names.
    pub async fn list_live_workers(&self) -> Result<Vec<LiveWorker>, ClientError> {
        let mut nodes = self.list_live_nodes().await?;
        nodes.retain(|node| node.tag_filter != TagFilter::None);
        Ok(nodes)
    }

    /// Nodes that run turns or activities at present, by their names, with the handlers that they
    /// have.
    pub async fn list_live_nodes(&self) -> Result<Vec<LiveWorker>, ClientError> {
        Ok(self.admin()?.list_live_workers().await?)
    }

    /// Activities that no live worker serves, by tag and age, `limit` at the most.
    ///
    /// A node counts as live until it is shut down, or for 90 seconds after its death. For a tag
    /// that is served, the oldest 10 000 waiting activities are looked at: workers pass over what
    /// they have no handler for, so that it becomes the oldest.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use duroxide::client::UnservedReason;
    ///
    /// # use duroxide::{Client, ClientError};
    /// # async fn example(client: &Client) -> Result<(), ClientError> {
    /// for unserved in client.list_unserved_work(100).await? {
    ///     let reason = match unserved.reason {
    ///         UnservedReason::NoWorkerForTag => "no worker for its tag",
    ///         UnservedReason::NoHandler => "no worker has its handler",
    ///         _other => "unserved",
    ///     };
    ///     println!("{}: {reason}", unserved.work.activity_name);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn list_unserved_work(&self, limit: u32) -> Result<Vec<UnservedWork>, ClientError> {
        let admin = self.admin()?;
        let workers = admin.list_live_workers().await?;
        let mut found = Unserved { limit: limit as usize, work: Vec::new() };
        let mut after: Option<String> = None;
        while found.has_room() {
            let tags = admin.list_waiting_tags(after.as_deref(), UNSERVED_SCAN_PAGE).await?;
            after = tags.last().cloned().flatten();
            for tag in tags {
                found.add_unserved(admin, &workers, tag).await?;
            }
            if after.is_none() {
                break;
            }
        }
        Ok(found.work)
    }
}

struct Unserved {
    limit: usize,
    work: Vec<UnservedWork>,
}

impl Unserved {
    fn has_room(&self) -> bool {
        self.work.len() < self.limit
    }

    /// Adds the waiting activities of one tag that no live worker serves.
    async fn add_unserved(
        &mut self,
        admin: &dyn ProviderAdmin,
        workers: &[LiveWorker],
        tag: Option<String>,
    ) -> Result<(), ClientError> {
        let serving = workers.iter().filter(|worker| worker.tag_filter.matches(tag.as_deref()));
        let serving: Vec<&LiveWorker> = serving.collect();
        let names = serving.iter().flat_map(|worker| &worker.activities);
        let names: HashSet<&str> = names.map(String::as_str).collect();
        let mut query = WaitingWorkQuery::new(tag, UNSERVED_SCAN_PAGE);
        for _page in 0..UNSERVED_SCAN_MAX / UNSERVED_SCAN_PAGE {
            if !self.has_room() {
                return Ok(());
            }
            let page = admin.list_waiting_work(query.clone()).await?;
            let Some(last) = page.last() else { return Ok(()) };
            query.after = Some(last.cursor.clone());
            for work in page {
                let reason = if serving.is_empty() {
                    UnservedReason::NoWorkerForTag
                } else if has_handler(&names, &work.activity_name) {
                    continue;
                } else {
                    UnservedReason::NoHandler
                };
                if self.has_room() {
                    self.work.push(UnservedWork { work, reason });
                }
            }
        }
        Ok(())
    }
}

/// Every node has the system's own activities.
fn has_handler(names: &HashSet<&str>, name: &str) -> bool {
    names.contains(name) || syscall::is_one(name)
}
