//! Receives instances before they are deleted.

use async_trait::async_trait;

use super::rules::RetentionPolicy;
use crate::client::{Client, ClientError};
use crate::histories::instance_lines;
use crate::providers::ProviderError;

/// Receives instances before a [policy](super::RetentionPolicy) deletes them.
///
/// # Examples
///
/// ```
/// # use duroxide_core as duroxide;
/// use async_trait::async_trait;
/// use duroxide::client::{ArchivedInstance, RetentionArchive};
///
/// /// Appends everything to one file.
/// struct File(std::path::PathBuf);
///
/// #[async_trait]
/// impl RetentionArchive for File {
///     async fn archive(&self, instance: ArchivedInstance) -> Result<(), String> {
///         use std::io::Write;
///         let file = std::fs::OpenOptions::new().create(true).append(true).open(&self.0);
///         let mut file = file.map_err(|error| error.to_string())?;
///         file.write_all(&instance.json_lines).map_err(|error| error.to_string())?;
///         file.sync_data().map_err(|error| error.to_string())
///     }
/// }
/// ```
#[async_trait]
pub trait RetentionArchive: Send + Sync {
    /// Stores an instance durably. After an error it is not deleted, and offered again later; after
    /// a crash it may be offered twice.
    ///
    /// # Errors
    /// Why it could not be stored.
    async fn archive(&self, instance: ArchivedInstance) -> Result<(), String>;
}

/// An instance that is about to be deleted, or some of its executions.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ArchivedInstance {
    /// Its id.
    pub instance_id: String,
    /// The instance with which it is deleted: itself, or the root of its tree.
    pub root_id: String,
    /// Its executions that are deleted.
    pub executions: Vec<u64>,
    /// Their histories as JSON lines, as `docs/upgrades.md` documents them.
    pub json_lines: Vec<u8>,
}

impl Client {
    /// Archives a root instance with its children; the error is that of the archive.
    pub(super) async fn archive_tree(
        &self,
        policy: &RetentionPolicy,
        root: &str,
    ) -> Result<Result<u64, String>, ClientError> {
        if policy.archive().is_none() {
            return Ok(Ok(0));
        }
        let tree = self.get_instance_tree(root).await?;
        let mut archived = 0;
        for instance in &tree.all_ids {
            let executions = self.list_executions(instance).await?;
            let place = Archived { root, instance, executions };
            if let Err(refusal) = self.archive_executions(policy, place).await? {
                return Ok(Err(refusal));
            }
            archived += 1;
        }
        Ok(Ok(archived))
    }

    /// Archives executions of an instance.
    pub(super) async fn archive_executions(
        &self,
        policy: &RetentionPolicy,
        place: Archived<'_>,
    ) -> Result<Result<(), String>, ClientError> {
        let Some(archive) = policy.archive() else { return Ok(Ok(())) };
        let Archived { root, instance, executions } = place;
        let lines = instance_lines(self.provider(), instance, &executions).await;
        let json_lines = lines.map_err(|error| {
            ProviderError::permanent("archive", format!("{instance} cannot be read: {error}"))
        })?;
        let archived = ArchivedInstance {
            instance_id: instance.to_owned(),
            root_id: root.to_owned(),
            executions,
            json_lines,
        };
        let refused = |error| format!("{instance} could not be archived: {error}");
        Ok(archive.archive(archived).await.map_err(refused))
    }
}

/// Which executions of which instance.
pub(super) struct Archived<'a> {
    pub(super) root: &'a str,
    pub(super) instance: &'a str,
    pub(super) executions: Vec<u64>,
}
