//! The client itself; what it can do is in the files beside this one.

use std::fmt;
use std::sync::Arc;

use super::ClientError;
use crate::model::{WorkItem, codec};
use crate::providers::{Provider, ProviderAdmin};

/// Controls instances. Talks to the provider only, so it works in any process that reaches the
/// same store. Clones share the provider.
///
/// # Examples
///
/// ```
/// # use duroxide_core as duroxide;
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// use duroxide::providers::Provider;
/// use duroxide::{Client, ClientError, OrchestrationStatus};
///
/// async fn place_order(store: Arc<dyn Provider>) -> Result<String, ClientError> {
///     let client = Client::new(store);
///     client.start_orchestration("order-7", "PlaceOrder", "3 apples").await?;
///     match client.wait_for_orchestration("order-7", Duration::from_secs(30)).await? {
///         OrchestrationStatus::Completed { output, .. } => Ok(output),
///         OrchestrationStatus::Failed { details, .. } => Ok(details.display_message()),
///         OrchestrationStatus::NotFound | OrchestrationStatus::Running { .. } => {
///             unreachable!("the wait returns finished instances only")
///         }
///     }
/// }
/// ```
#[derive(Clone)]
pub struct Client {
    provider: Arc<dyn Provider>,
}

impl Client {
    /// A client of this store.
    pub fn new(store: Arc<dyn Provider>) -> Self {
        Self { provider: store }
    }

    /// Whether the store has a management side.
    pub fn has_management_capability(&self) -> bool {
        self.provider.as_management_capability().is_some()
    }

    pub(super) fn provider(&self) -> &dyn Provider {
        self.provider.as_ref()
    }

    pub(super) fn admin(&self) -> Result<&dyn ProviderAdmin, ClientError> {
        self.provider.as_management_capability().ok_or(ClientError::ManagementNotAvailable)
    }

    /// Sends one message to an instance.
    pub(super) async fn send(&self, item: WorkItem) -> Result<(), ClientError> {
        Ok(self.provider.enqueue_for_orchestrator(item, None).await?)
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("provider", &self.provider.name()).finish()
    }
}

/// The stored text of a typed value that a caller handed in.
pub(super) fn encode<T: serde::Serialize + ?Sized>(value: &T) -> Result<String, ClientError> {
    codec::encode(value)
        .map_err(|error| ClientError::InvalidInput { message: format!("encode: {error}") })
}
