//! Keeps an instance from changing while it is exported.

use crate::limits::HOLD_LENGTH;
use crate::providers::{Provider, ProviderAdmin, ProviderError, ProviderErrorKind};

/// An instance that no node takes a turn of.
pub(super) struct Hold<'a> {
    store: &'a dyn Provider,
    token: String,
}

impl<'a> Hold<'a> {
    /// Holds an instance; `None` if there is nothing to hold, because it has ended meanwhile or
    /// only parked messages wait for it.
    pub(super) async fn take(
        store: &'a dyn Provider,
        admin: &dyn ProviderAdmin,
        instance: &str,
    ) -> Result<Option<Self>, ProviderError> {
        match admin.hold_instance(instance, HOLD_LENGTH).await {
            Ok(held) => Ok(Some(Self { store, token: held.lock_token })),
            Err(error)
                if matches!(
                    error.kind,
                    ProviderErrorKind::NotFound | ProviderErrorKind::Conflict
                ) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Extends the hold; an error if it is lost.
    pub(super) async fn renew(&self) -> Result<(), ProviderError> {
        self.store.renew_orchestration_item_lock(&self.token, HOLD_LENGTH).await
    }

    /// Lets the instance go on.
    pub(super) async fn release(self) {
        let released = self.store.abandon_orchestration_item(&self.token, None, true).await;
        if let Err(error) = released {
            tracing::debug!(
                target: "duroxide::client", %error,
                "could not release an instance that was held; the lease expires"
            );
        }
    }
}
