//! The status of an instance, for a store that reads its two parts separately.

use crate::providers::{InstanceOutcome, InstanceStatus, Provider, ProviderError};

/// Reads the outcome and then the custom status, either of which may fail.
///
/// The default of [`Provider::read_status`]. A decorator that overrides one of the two reads calls
/// it too, so that its own version is used.
pub async fn read_status_in_two_calls<P: Provider + ?Sized>(
    provider: &P,
    instance: &str,
) -> Result<InstanceStatus, ProviderError> {
    let outcome = provider.read_outcome(instance).await?;
    let custom_status = match outcome {
        InstanceOutcome::NotFound => Ok(None),
        InstanceOutcome::Running | InstanceOutcome::Ended(_) => {
            provider.get_custom_status(instance, 0).await
        }
    };
    Ok(InstanceStatus::new(outcome, custom_status))
}
