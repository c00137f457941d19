//! Why a client call failed.

use crate::providers::ProviderError;

/// A client call failed. The texts are relied upon by callers.
///
/// # Examples
///
/// ```
/// # use duroxide_core as duroxide;
///
/// use duroxide::{Client, ClientError};
///
/// async fn delete(client: &Client, instance: &str) -> Result<(), ClientError> {
///     match client.delete_instance(instance, false).await {
///         Ok(_deleted) => Ok(()),
///         Err(ClientError::InstanceStillRunning { .. }) => {
///             client.cancel_instance(instance, "deleted").await
///         }
///         Err(error) => Err(error),
///     }
/// }
/// ```
#[derive(Debug, Clone, thiserror::Error)]
pub enum ClientError {
    /// The store failed.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// The store has no management side.
    #[error("Management features not available - provider doesn't implement ProviderAdmin")]
    ManagementNotAvailable,
    /// The caller handed in, or asked for, something that does not fit.
    #[error("Invalid input: {message}")]
    InvalidInput {
        /// What does not fit.
        message: String,
    },
    /// The time given to a wait is over.
    #[error("Operation timed out")]
    Timeout,
    /// A running instance is not deleted without force.
    #[error("Instance {instance_id} is still running. Use force=true or cancel first.")]
    InstanceStillRunning {
        /// The instance.
        instance_id: String,
    },
    /// A child is deleted only together with its root.
    #[error(
        "Cannot delete sub-orchestration {instance_id} directly. \
         Delete the root orchestration instead."
    )]
    CannotDeleteSubOrchestration {
        /// The child.
        instance_id: String,
    },
    /// No such instance.
    #[error("Instance {instance_id} not found")]
    InstanceNotFound {
        /// The id asked for.
        instance_id: String,
    },
}

impl From<ClientError> for String {
    fn from(error: ClientError) -> Self {
        error.to_string()
    }
}

impl ClientError {
    /// Whether the same call may succeed later.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Provider(error) => error.is_retryable(),
            Self::Timeout => true,
            Self::ManagementNotAvailable
            | Self::InvalidInput { .. }
            | Self::InstanceStillRunning { .. }
            | Self::CannotDeleteSubOrchestration { .. }
            | Self::InstanceNotFound { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id() -> String {
        "order-7".to_owned()
    }

    #[test]
    fn texts_are_the_promised_ones() {
        let texts = [
            (ProviderError::retryable("read", "busy").into(), "read: busy"),
            (
                ClientError::ManagementNotAvailable,
                "Management features not available - provider doesn't implement ProviderAdmin",
            ),
            (ClientError::InvalidInput { message: "no".to_owned() }, "Invalid input: no"),
            (ClientError::Timeout, "Operation timed out"),
            (
                ClientError::InstanceStillRunning { instance_id: id() },
                "Instance order-7 is still running. Use force=true or cancel first.",
            ),
            (
                ClientError::CannotDeleteSubOrchestration { instance_id: id() },
                "Cannot delete sub-orchestration order-7 directly. \
                 Delete the root orchestration instead.",
            ),
            (ClientError::InstanceNotFound { instance_id: id() }, "Instance order-7 not found"),
        ];
        for (error, text) in texts {
            assert_eq!(error.to_string(), text);
        }
    }

    #[test]
    fn only_timeouts_and_passing_store_errors_are_retryable() {
        assert!(ClientError::Timeout.is_retryable());
        assert!(ClientError::from(ProviderError::retryable("read", "busy")).is_retryable());
        assert!(!ClientError::from(ProviderError::permanent("read", "gone")).is_retryable());
        assert!(!ClientError::ManagementNotAvailable.is_retryable());
        assert!(!ClientError::InvalidInput { message: id() }.is_retryable());
        assert!(!ClientError::InstanceStillRunning { instance_id: id() }.is_retryable());
        assert!(!ClientError::CannotDeleteSubOrchestration { instance_id: id() }.is_retryable());
        assert!(!ClientError::InstanceNotFound { instance_id: id() }.is_retryable());
    }
}
