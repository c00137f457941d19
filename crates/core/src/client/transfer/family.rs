//! Parents and children of exported instances.

use std::collections::{BTreeSet, HashSet};

use super::super::{Client, ClientError};
use crate::limits::TREE_DEPTH_MAX;
use crate::providers::{ProviderErrorKind, WaitingStartQuery};
use crate::transfer::ExportedInstance;

/// Which children of exported instances were exported.
#[derive(Debug, Default)]
pub(super) struct Children {
    expected: BTreeSet<String>,
    exported: HashSet<String>,
}

impl Children {
    /// Notes an instance and its children.
    pub(super) fn note(&mut self, exported: &ExportedInstance, children: Vec<String>) {
        // Only children are remembered, so that a store without any costs nothing.
        if exported.parent.is_some() || exported.executions == 0 {
            self.exported.insert(exported.instance.clone());
        }
        self.expected.extend(children);
    }

    /// Whether an instance was exported that is a child or is not stored.
    pub(super) fn has(&self, instance: &str) -> bool {
        self.exported.contains(instance)
    }

    /// Children that were not exported.
    pub(super) fn missing(self) -> Vec<String> {
        let Self { expected, exported } = self;
        expected.into_iter().filter(|child| !exported.contains(child)).collect()
    }
}

impl Client {
    /// The children of an instance: those that exist, and those whose start is queued.
    pub(super) async fn exported_children(
        &self,
        instance: &str,
        is_running: bool,
    ) -> Result<Vec<String>, ClientError> {
        let admin = self.admin()?;
        let mut children = admin.list_children(instance).await?;
        if is_running {
            let execution_id = admin.latest_execution_id(instance).await?;
            let open = self.open_calls(instance, execution_id).await?;
            for child in open.children.into_values() {
                if !children.contains(&child) && self.has_queued_start(&child).await? {
                    children.push(child);
                }
            }
        }
        Ok(children)
    }

    async fn has_queued_start(&self, instance: &str) -> Result<bool, ClientError> {
        let query = WaitingStartQuery::of(instance);
        Ok(!self.admin()?.list_waiting_starts(query).await?.is_empty())
    }

    /// The root of the tree of an instance. A parent that does not exist ends the way.
    pub(super) async fn root_of(&self, instance: &str) -> Result<String, ClientError> {
        let admin = self.admin()?;
        let mut root = instance.to_owned();
        for _level in 0..TREE_DEPTH_MAX {
            match admin.get_parent_id(&root).await {
                Ok(Some(parent)) => root = parent,
                Ok(None) => break,
                Err(error) if error.kind == ProviderErrorKind::NotFound => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(root)
    }
}
