//! What a store must be able to do for a search.

use async_trait::async_trait;

use super::super::RowKey;
use crate::model::ExecutionStatus;
use crate::providers::{InstanceOrder, ProviderError};
use crate::query::InstanceRow;

/// Instances that an index finds. It may contain ids that are unknown, or twice.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum InstanceSet {
    /// These.
    Ids(Vec<String>),
    /// Those whose id begins so.
    IdPrefix(String),
    /// The children of an instance.
    ChildrenOf(String),
    /// Those of one orchestration.
    Named(String),
    /// Those that were created between these times, both included.
    Created(u64, u64),
    /// Those that are suspended.
    Suspended,
    /// Those with a stored value of an attribute in one of these ranges: from the first text on,
    /// up to the second, which is excluded, byte by byte.
    Attribute {
        /// The key of the attribute in the key-value state.
        key: String,
        /// The ranges.
        ranges: Vec<(String, String)>,
    },
    /// Those whose current execution has not ended, or continued as new while the next has not
    /// started.
    Unended,
    /// Those that failed.
    Failed,
    /// Those that failed, and those whose current execution has not ended or continued as new.
    NotCompleted,
}

/// Where keys are read from.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeySource {
    /// All instances, by the index of the order.
    All,
    /// Instances of these orchestrations. Only for the order by creation.
    Names(Vec<String>),
    /// Instances whose id begins so. Only for the order by id.
    IdPrefix(String),
    /// These instances, which may be unknown. Only for the order by creation.
    Ids(Vec<String>),
}

/// A request for the next keys.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct KeyRequest<'a> {
    /// Of which instances.
    pub source: &'a KeySource,
    /// By what they are sorted.
    pub order: InstanceOrder,
    /// Whether they grow.
    pub is_ascending: bool,
    /// The first key, which is included; `None` is the beginning.
    pub from: Option<&'a RowKey>,
    /// The earliest and the latest creation, both included. Keys outside may be returned.
    pub created: (u64, u64),
    /// How many at the most.
    pub limit: usize,
}

/// The reads of a store that a search consists of. Each sees what was committed before it, and
/// returns quickly.
#[async_trait]
pub trait InstanceSource: Send + Sync {
    /// The time of the store, milliseconds since the Unix epoch.
    fn now_ms(&self) -> u64;

    /// The ids of a set, in any order; `None` if there are more than `max`, or if more would have
    /// to be read to find them.
    async fn members(
        &self,
        set: &InstanceSet,
        max: usize,
    ) -> Result<Option<Vec<String>>, ProviderError>;

    /// Different names of orchestrations that begin so; `None` if there are more than `max`, or if
    /// the index does not have them in full.
    async fn names(&self, prefix: &str, max: usize) -> Result<Option<Vec<String>>, ProviderError>;

    /// The next keys, in order, each once.
    async fn keys(&self, request: KeyRequest<'_>) -> Result<Vec<RowKey>, ProviderError>;

    /// The rows of instances, in any order, without categories of errors and without attributes.
    /// Left out are unknown ids and, to save their reading, instances that
    /// [`list_instances_by_status`](crate::providers::ProviderAdmin::list_instances_by_status)
    /// lists under one of the excluded statuses.
    async fn rows(
        &self,
        ids: &[String],
        excluded: &[ExecutionStatus],
    ) -> Result<Vec<InstanceRow>, ProviderError>;

    /// Adds the categories of errors to rows of failed instances.
    async fn add_categories(&self, rows: &mut [InstanceRow]) -> Result<(), ProviderError>;

    /// Adds the attributes to rows.
    async fn add_attributes(&self, rows: &mut [InstanceRow]) -> Result<(), ProviderError>;
}

/// The least text that is greater than every text with this prefix; `None` if there is none.
pub fn prefix_end(prefix: &str) -> Option<String> {
    let mut kept: Vec<char> = prefix.chars().collect();
    while let Some(last) = kept.pop() {
        // The next character; surrogates are none.
        let next = u32::from(last) + 1;
        let next = if next == 0xD800 { 0xE000 } else { next };
        if let Some(next) = char::from_u32(next) {
            kept.push(next);
            return Some(kept.into_iter().collect());
        }
    }
    None
}
