//! How far a bulk act is.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::act::BulkAct;
use super::recorded::{BULK, BulkState, Stage};
use crate::client::{Client, ClientError};
use crate::model::OrchestrationStatus;
use crate::providers::InstanceQuery;
use crate::query::Filter;

/// A bulk act: who asked for it and why, and how far it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BulkProgress {
    /// The id of the act.
    #[serde(default)]
    pub id: String,
    /// What is done.
    pub act: BulkAct,
    /// Who asked for it.
    pub by: String,
    /// Why.
    pub reason: String,
    /// The filter; `None` if ids were given.
    pub filter: Option<String>,
    /// How far it is.
    pub phase: BulkPhase,
    /// How many instances it concerns, as far as they are known.
    pub frozen: u64,
    /// For how many it succeeded.
    pub done: u64,
    /// How many do not exist any more.
    pub not_found: u64,
    /// For how many it failed.
    pub failed: u64,
    /// Why the act itself ended early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// How far a bulk act is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum BulkPhase {
    /// It collects the ids; nothing has changed yet.
    Freezing,
    /// It acts on them.
    Applying,
    /// It has acted on all of them.
    Finished,
    /// It was cancelled, or it failed; see the error.
    Stopped,
}

impl BulkPhase {
    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Freezing => "freezing",
            Self::Applying => "applying",
            Self::Finished => "finished",
            Self::Stopped => "stopped",
        }
    }

    /// Whether nothing more happens.
    pub fn is_over(self) -> bool {
        match self {
            Self::Finished | Self::Stopped => true,
            Self::Freezing | Self::Applying => false,
        }
    }
}

impl BulkProgress {
    pub(crate) fn of(state: &BulkState) -> Self {
        Self {
            id: String::new(),
            act: state.act,
            by: state.by.clone(),
            reason: state.reason.clone(),
            filter: state.filter.clone(),
            phase: match state.stage {
                Stage::Freeze { .. } => BulkPhase::Freezing,
                Stage::Apply { .. } => BulkPhase::Applying,
            },
            frozen: state.counts.frozen,
            done: state.counts.done,
            not_found: state.counts.not_found,
            failed: state.counts.failed,
            error: None,
        }
    }
}

impl fmt::Display for BulkProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, act, phase, frozen, done, not_found, failed, .. } = self;
        write!(
            f,
            "{id}: {act} is {}: {done} of {frozen} done, {failed} failed, {not_found} not found",
            phase.as_str()
        )
    }
}

impl Client {
    /// How far a bulk act is.
    ///
    /// # Errors
    /// [`InstanceNotFound`](ClientError::InstanceNotFound) if there is no such act, or if no host
    /// has started it.
    pub async fn get_bulk(&self, act: &str) -> Result<BulkProgress, ClientError> {
        let (custom_status, phase, error) = match self.get_orchestration_status(act).await? {
            OrchestrationStatus::Running { custom_status, .. } => (custom_status, None, None),
            OrchestrationStatus::Completed { custom_status, .. } => {
                (custom_status, Some(BulkPhase::Finished), None)
            }
            OrchestrationStatus::Failed { custom_status, details, .. } => {
                (custom_status, Some(BulkPhase::Stopped), Some(details.display_message()))
            }
            OrchestrationStatus::NotFound => (None, None, None),
        };
        let recorded = custom_status.and_then(|text| serde_json::from_str(&text).ok());
        let Some(recorded) = recorded else {
            return Err(ClientError::InstanceNotFound { instance_id: act.to_owned() });
        };
        let progress: BulkProgress = recorded;
        let phase = phase.unwrap_or(progress.phase);
        Ok(BulkProgress { id: act.to_owned(), phase, error, ..progress })
    }

    /// Waits until a bulk act is over.
    ///
    /// # Errors
    /// [`Timeout`](ClientError::Timeout) if it is not in time, and those of
    /// [`get_bulk`](Self::get_bulk).
    pub async fn wait_for_bulk(
        &self,
        act: &str,
        timeout: Duration,
    ) -> Result<BulkProgress, ClientError> {
        self.wait_for_orchestration(act, timeout).await?;
        self.get_bulk(act).await
    }

    /// The latest bulk acts, newest first, finished ones included.
    pub async fn list_bulk_acts(&self, limit: u32) -> Result<Vec<BulkProgress>, ClientError> {
        let filter = Filter::parse(&format!("name:{BULK}"))?;
        let page = self.query_instances(InstanceQuery::new(filter).with_limit(limit)).await?;
        let mut acts = Vec::new();
        for row in page.rows {
            match self.get_bulk(&row.instance_id).await {
                Ok(act) => acts.push(act),
                // Deleted meanwhile, or not a record of this release.
                Err(ClientError::InstanceNotFound { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(acts)
    }
}
