//! Keeping a lease while its work is being done.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::options::lease_renewal_interval;
use super::tasks::{AbortOnDrop, Tasks};
use crate::providers::{Provider, ProviderError};

/// What is leased.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leased {
    Turn,
    Activity,
}

/// A lease that is renewed until this is dropped.
#[derive(Debug)]
pub(crate) struct Lease {
    lost: CancellationToken,
    _keeper: AbortOnDrop,
}

impl Lease {
    /// Fires when the lease is gone for good: the work is someone else's, or nobody's.
    pub(crate) fn lost(&self) -> &CancellationToken {
        &self.lost
    }
}

/// What a keeper needs.
pub(crate) struct Keeper {
    pub(crate) leased: Leased,
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) token: String,
    pub(crate) length: Duration,
    /// Renew at once, because there is reason to believe that the lease is gone.
    pub(crate) doubtful: bool,
}

impl Keeper {
    /// Renews the lease in the background, at half its length.
    pub(crate) fn keep(self, tasks: &Tasks) -> Lease {
        let lost = CancellationToken::new();
        let handle = tasks.spawn({
            let lost = lost.clone();
            async move {
                self.renew_until_lost().await;
                lost.cancel();
            }
        });
        Lease { lost, _keeper: AbortOnDrop::new(&handle) }
    }

    async fn renew_until_lost(self) {
        let interval = lease_renewal_interval(self.length);
        // `None` when the end lies further away than time can be counted.
        let mut expires = Instant::now().checked_add(self.length);
        let mut pause = if self.doubtful { Duration::ZERO } else { interval };
        loop {
            tokio::time::sleep(pause).await;
            let asked = Instant::now();
            match self.renew().await {
                Ok(()) => {
                    expires = asked.checked_add(self.length);
                    pause = interval;
                }
                // Only a permanent answer says that the lease is gone; trouble of the store does
                // not, until the lease has really run out.
                Err(error)
                    if error.is_retryable()
                        && expires.is_none_or(|expires| Instant::now() < expires) =>
                {
                    warn!(
                        target: "duroxide::runtime",
                        leased = ?self.leased, %error,
                        "a lease could not be renewed and is tried again"
                    );
                    pause = (interval / 4).max(Duration::from_millis(1));
                }
                Err(error) => {
                    let leased = self.leased;
                    debug!(target: "duroxide::runtime", ?leased, %error, "lease lost");
                    return;
                }
            }
        }
    }

    async fn renew(&self) -> Result<(), ProviderError> {
        match self.leased {
            Leased::Turn => {
                self.provider.renew_orchestration_item_lock(&self.token, self.length).await
            }
            Leased::Activity => self.provider.renew_work_item_lock(&self.token, self.length).await,
        }
    }
}
