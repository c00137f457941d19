//! What became of each instance of a bulk act.

use serde::{Deserialize, Serialize};

use super::recorded::{AppliedSlice, BULK, CURRENT_CODE, FIRST_CODE};
use crate::client::{Client, ClientError};
use crate::model::{Event, EventKind};
use crate::providers::ProviderErrorKind;

/// What became of one instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BulkOutcome {
    /// The instance.
    pub instance_id: String,
    /// Whether the act succeeded.
    pub result: BulkResult,
    /// A remark on the result, or the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// Whether an act succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum BulkResult {
    /// It did.
    Done,
    /// There is no such instance any more.
    NotFound,
    /// It failed for this instance.
    Failed,
}

/// A part of the outcomes of a bulk act.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BulkOutcomes {
    /// In the order of the ids.
    pub outcomes: Vec<BulkOutcome>,
    /// Where to go on; `None` if there are no more so far.
    pub next: Option<u64>,
}

impl BulkOutcome {
    pub(crate) fn new(instance_id: String, result: BulkResult, detail: Option<String>) -> Self {
        Self { instance_id, result, detail }
    }
}

impl Client {
    /// What became of the instances of a bulk act, one part of its record at a time: begin with 0,
    /// and go on with [`next`](BulkOutcomes::next). Parts that have no outcomes are empty.
    ///
    /// # Errors
    /// [`InstanceNotFound`](ClientError::InstanceNotFound) if there is no such act.
    pub async fn read_bulk_outcomes(
        &self,
        act: &str,
        place: u64,
    ) -> Result<BulkOutcomes, ClientError> {
        let unknown = || ClientError::InstanceNotFound { instance_id: act.to_owned() };
        let info = match self.get_instance_info(act).await {
            Err(ClientError::Provider(error)) if error.kind == ProviderErrorKind::NotFound => {
                return Err(unknown());
            }
            read => read?,
        };
        if info.orchestration_name != BULK {
            return Err(unknown());
        }
        let execution_id = place.max(1);
        let last = info.current_execution_id;
        if execution_id > last {
            return Ok(BulkOutcomes::default());
        }
        let history = self.read_execution_history(act, execution_id).await?;
        let next = (execution_id < last).then_some(execution_id + 1);
        Ok(BulkOutcomes { outcomes: outcomes_of(&history), next })
    }
}

/// The outcomes that an execution recorded.
fn outcomes_of(history: &[Event]) -> Vec<BulkOutcome> {
    let mut slices = std::collections::BTreeSet::new();
    let mut outcomes = Vec::new();
    for event in history {
        if let EventKind::ActivityScheduled { name, .. } = &event.kind
            && [FIRST_CODE.apply, CURRENT_CODE.apply].contains(&name.as_str())
        {
            slices.insert(event.event_id);
        } else if let EventKind::ActivityCompleted { result } = &event.kind
            && event.source_event_id.is_some_and(|id| slices.remove(&id))
            && let Ok(slice) = serde_json::from_str::<AppliedSlice>(result)
        {
            outcomes.extend(slice.outcomes);
        }
    }
    outcomes
}
