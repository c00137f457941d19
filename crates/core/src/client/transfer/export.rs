//! Exports instances of the client's store.

use std::collections::{HashSet, VecDeque};
use std::io::Write;

use super::family::Children;
use super::request::{ExportReport, ExportRequest, ExportSelection};
use crate::client::{Client, ClientError};
use crate::limits::{EXPORTED_PARKED_MAX, EXPORTED_STARTS_PER_READ, MAX_QUERY_ROWS};
use crate::providers::{InstanceOrder, InstanceQuery, ProviderErrorKind, WaitingStartQuery};
use crate::query::Filter;
use crate::transfer::{
    ExportedInstance, InstanceWriter, RunningInstances, TransferError, export_instance,
};

impl From<ClientError> for TransferError {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Provider(error) => Self::Store(error),
            ClientError::ManagementNotAvailable => Self::NoManagement,
            ClientError::InstanceNotFound { instance_id: instance } => Self::NotFound { instance },
            ClientError::InvalidInput { .. }
            | ClientError::Timeout
            | ClientError::InstanceStillRunning { .. }
            | ClientError::CannotDeleteSubOrchestration { .. } => {
                Self::Request { message: error.to_string() }
            }
        }
    }
}

impl Client {
    /// Writes one instance as JSON lines, with all executions, keys and queued messages. It changes
    /// nothing, and holds a part of the instance in memory.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use duroxide::transfer::{InstanceWriter, RunningInstances, TransferError};
    ///
    /// # use duroxide::Client;
    /// # async fn example(client: &Client) -> Result<(), TransferError> {
    /// let mut writer = InstanceWriter::new("order-7", Vec::new())?;
    /// client.export_instance("order-7", RunningInstances::Refuse, &mut writer).await?;
    /// let lines = writer.finish()?;
    /// # drop(lines);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The instance is unknown, or runs and that is refused; the store or the output failed, or the
    /// store cannot export instances.
    pub async fn export_instance<W: Write + Send>(
        &self,
        instance: &str,
        running: RunningInstances,
        writer: &mut InstanceWriter<W>,
    ) -> Result<ExportedInstance, TransferError> {
        export_instance(self.provider(), instance, running, writer).await
    }

    /// Writes many instances, one after the other, and calls `observe` for each. It reads the store
    /// in pages, so that there may be any number of instances.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use duroxide::client::{ExportRequest, ExportSelection};
    /// use duroxide::query::Filter;
    /// use duroxide::transfer::{InstanceWriter, TransferError};
    ///
    /// # use duroxide::{Client, ClientError};
    /// # async fn example(client: &Client) -> Result<(), TransferError> {
    /// let failed = Filter::parse("status:failed").map_err(ClientError::from)?;
    /// let request = ExportRequest::new(ExportSelection::Filter(failed)).with_trees();
    /// let mut writer = InstanceWriter::new("failed", Vec::new())?;
    /// let report = client.export_instances(request, &mut writer, |_| {}).await?;
    /// println!("{} instances with {} events", report.instances, report.events);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As for [`export_instance`](Self::export_instance). What was written before is complete.
    pub async fn export_instances<W: Write + Send>(
        &self,
        request: ExportRequest,
        writer: &mut InstanceWriter<W>,
        observe: impl FnMut(&ExportedInstance) + Send,
    ) -> Result<ExportReport, TransferError> {
        let ExportRequest { selection, with_trees, running } = request;
        let mut export = Export {
            client: self,
            running,
            with_trees,
            writer,
            observe,
            report: ExportReport::default(),
            children: Children::default(),
            trees: HashSet::new(),
        };
        match selection {
            ExportSelection::Ids(ids) => export.write_ids(ids).await?,
            ExportSelection::Filter(filter) => export.write_filtered(filter).await?,
            ExportSelection::All => {
                export.write_filtered(Filter::all()).await?;
                export.write_unstarted().await?;
                export.write_parked().await?;
            }
        }
        let Export { mut report, children, .. } = export;
        report.missing_children = children.missing();
        Ok(report)
    }
}

struct Export<'a, W, O> {
    client: &'a Client,
    running: RunningInstances,
    with_trees: bool,
    writer: &'a mut InstanceWriter<W>,
    observe: O,
    report: ExportReport,
    children: Children,
    /// Roots with children whose trees are written.
    trees: HashSet<String>,
}

impl<W: Write + Send, O: FnMut(&ExportedInstance) + Send> Export<'_, W, O> {
    async fn write_ids(&mut self, ids: Vec<String>) -> Result<(), TransferError> {
        let listed: HashSet<String> = ids.iter().cloned().collect();
        let mut written = HashSet::new();
        for id in ids {
            // Parents come first: an import drops the link to one that is not stored yet.
            for id in self.with_listed_parents(id, &listed).await? {
                if written.insert(id.clone()) {
                    self.write_selected(&id).await?;
                }
            }
        }
        Ok(())
    }

    /// An instance behind those of its ancestors that are listed.
    async fn with_listed_parents(
        &self,
        id: String,
        listed: &HashSet<String>,
    ) -> Result<VecDeque<String>, TransferError> {
        let mut line = VecDeque::from([id]);
        while let Some(first) = line.front() {
            let parent = match self.client.admin()?.get_parent_id(first).await {
                Ok(parent) => parent,
                // Its start may be queued; the export says if it is unknown.
                Err(error) if error.kind == ProviderErrorKind::NotFound => None,
                Err(error) => return Err(error.into()),
            };
            match parent.filter(|it| listed.contains(it) && !line.contains(it)) {
                Some(parent) => line.push_front(parent),
                None => break,
            }
        }
        Ok(line)
    }

    async fn write_filtered(&mut self, filter: Filter) -> Result<(), TransferError> {
        let query = InstanceQuery::new(filter).sorted_by(InstanceOrder::Created).ascending();
        let mut query = query.with_limit(MAX_QUERY_ROWS);
        loop {
            let page = self.client.query_instances(query.clone()).await?;
            for row in page.rows {
                match self.write_selected(&row.instance_id).await {
                    // Deleted since the page was read.
                    Err(TransferError::NotFound { instance }) if instance == row.instance_id => {}
                    outcome => outcome?,
                }
            }
            let Some(next) = page.next else { return Ok(()) };
            query = query.with_after(next);
        }
    }

    async fn write_unstarted(&mut self) -> Result<(), TransferError> {
        let mut query = WaitingStartQuery::new(EXPORTED_STARTS_PER_READ);
        loop {
            let starts = self.client.admin()?.list_waiting_starts(query.clone()).await?;
            let Some(last) = starts.last().map(|start| start.cursor.clone()) else {
                return Ok(());
            };
            for start in starts {
                // With trees, it may have come with its parent.
                if !self.children.has(&start.instance_id) {
                    self.write(&start.instance_id).await?;
                }
            }
            query = query.with_after(last);
        }
    }

    async fn write_parked(&mut self) -> Result<(), TransferError> {
        let parked = self.client.admin()?.list_parked_messages(EXPORTED_PARKED_MAX).await?;
        self.report.has_more_parked = parked.len() >= EXPORTED_PARKED_MAX as usize;
        let mut written = HashSet::new();
        for message in parked {
            if written.insert(message.instance_id.clone()) {
                self.write(&message.instance_id).await?;
            }
        }
        Ok(())
    }

    /// Writes a selected instance, or the tree that it belongs to.
    async fn write_selected(&mut self, instance: &str) -> Result<(), TransferError> {
        if !self.with_trees {
            return self.write(instance).await;
        }
        let root = self.client.root_of(instance).await?;
        if self.trees.contains(&root) {
            return Ok(());
        }
        let mut waiting = VecDeque::from([root.clone()]);
        // A cycle cannot be stored, but a broken store must not make us loop.
        let mut found = HashSet::from([root.clone()]);
        while let Some(next) = waiting.pop_front() {
            let children = self.write_one(&next).await?;
            if next == root && !children.is_empty() {
                self.trees.insert(root.clone());
            }
            waiting.extend(children.into_iter().filter(|child| found.insert(child.clone())));
        }
        Ok(())
    }

    async fn write(&mut self, instance: &str) -> Result<(), TransferError> {
        self.write_one(instance).await.map(drop)
    }

    /// Writes one instance; returns its children.
    async fn write_one(&mut self, instance: &str) -> Result<Vec<String>, TransferError> {
        let exported = self.client.export_instance(instance, self.running, self.writer).await?;
        let children = match exported.executions {
            0 => Vec::new(),
            _ => self.client.exported_children(instance, exported.is_running).await?,
        };
        self.report.instances += 1;
        self.report.running += u64::from(exported.is_running);
        self.report.events += exported.events;
        self.children.note(&exported, children.clone());
        (self.observe)(&exported);
        Ok(children)
    }
}
