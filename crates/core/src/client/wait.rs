//! Waits for an instance: notified by a provider that can notify, polling any other.

use std::time::Duration;

use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep, timeout};
use tracing::warn;

use super::status::status_of;
use super::{Client, ClientError};
use crate::limits::{
    CLIENT_POLL_PAUSE_MAX, CLIENT_POLL_PAUSE_MIN, CLIENT_WAKE_UP_MEMORY, CLIENT_WAKE_UP_PAUSE_MAX,
    CLIENT_WAKE_UP_PAUSE_MIN, CLIENT_WATCH_SAFETY_INTERVAL,
};
use crate::model::{OrchestrationStatus, codec};
use crate::providers::{ChangeScope, ChangeWatch, InstanceOutcome, InstanceStatus, ProviderError};

impl Client {
    /// Waits until the instance has completed or failed. An unknown instance counts as not
    /// finished. The wait goes on through trouble of the store that may pass; a permanent error
    /// ends it.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use std::time::Duration;
    ///
    /// # use duroxide::{Client, ClientError};
    /// # async fn example(client: &Client) -> Result<(), ClientError> {
    /// match client.wait_for_orchestration("order-7", Duration::from_secs(30)).await {
    ///     Ok(finished) => println!("{finished:?}"),
    ///     Err(ClientError::Timeout) => println!("still running"),
    ///     Err(error) => return Err(error),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn wait_for_orchestration(
        &self,
        instance: &str,
        timeout: Duration,
    ) -> Result<OrchestrationStatus, ClientError> {
        let mut wait = Wait::begin(self, ChangeScope::Outcome(instance), timeout);
        loop {
            let read = self.provider().read_status(instance).await;
            if let Some(status) = wait.passing(read)?
                && matches!(status.outcome, InstanceOutcome::Ended(_))
            {
                wait.reported().await;
                return status_of(status);
            }
            wait.for_change().await?;
            if let Some(status) = wait.ending() {
                wait.reported().await;
                return status_of(status);
            }
        }
    }

    /// Like [`wait_for_orchestration`](Self::wait_for_orchestration) with a decoded output. A
    /// failed instance is the inner `Err` with its text.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use std::time::Duration;
    ///
    /// # use duroxide::{Client, ClientError};
    /// # async fn example(client: &Client) -> Result<(), ClientError> {
    /// let timeout = Duration::from_secs(30);
    /// let outcome: Result<u32, String> =
    ///     client.wait_for_orchestration_typed("order-7", timeout).await?;
    /// match outcome {
    ///     Ok(price) => println!("costs {price}"),
    ///     Err(failure) => println!("failed: {failure}"),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn wait_for_orchestration_typed<Out: DeserializeOwned>(
        &self,
        instance: &str,
        timeout: Duration,
    ) -> Result<Result<Out, String>, ClientError> {
        match self.wait_for_orchestration(instance, timeout).await? {
            OrchestrationStatus::Completed { output, .. } => {
                codec::decode(&output).map(Ok).map_err(|error| ClientError::InvalidInput {
                    message: format!("decode failed: {error}"),
                })
            }
            OrchestrationStatus::Failed { details, .. } => Ok(Err(details.display_message())),
            OrchestrationStatus::NotFound | OrchestrationStatus::Running { .. } => {
                unreachable!("the wait ends only with a finished instance")
            }
        }
    }

    /// Waits for a custom status above `last_seen_version`, or for the end of the instance.
    /// `poll_interval` matters only for a provider that cannot notify of changes.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use std::time::Duration;
    ///
    /// use duroxide::OrchestrationStatus;
    ///
    /// # use duroxide::{Client, ClientError};
    /// # async fn example(client: &Client) -> Result<(), ClientError> {
    /// let (poll, timeout) = (Duration::from_millis(100), Duration::from_secs(30));
    /// let mut seen = 0;
    /// loop {
    ///     match client.wait_for_status_change("order-7", seen, poll, timeout).await? {
    ///         OrchestrationStatus::Running { custom_status, custom_status_version } => {
    ///             println!("{custom_status:?}");
    ///             seen = custom_status_version;
    ///         }
    ///         finished => {
    ///             println!("{finished:?}");
    ///             break;
    ///         }
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn wait_for_status_change(
        &self,
        instance: &str,
        last_seen_version: u64,
        poll_interval: Duration,
        timeout: Duration,
    ) -> Result<OrchestrationStatus, ClientError> {
        let scope = ChangeScope::Instance(instance);
        let mut wait = Wait::begin(self, scope, timeout).with_pause(poll_interval);
        loop {
            let read = self.read_if_newer(instance, last_seen_version).await;
            if let Some(Some(status)) = wait.passing(read)? {
                wait.reported().await;
                return status_of(status);
            }
            wait.for_change().await?;
        }
    }

    /// The status, if it is newer than the version or final.
    async fn read_if_newer(
        &self,
        instance: &str,
        last_seen_version: u64,
    ) -> Result<Option<InstanceStatus>, ProviderError> {
        let newer = self.provider().get_custom_status(instance, last_seen_version).await?;
        let status = self.provider().read_status(instance).await?;
        let is_news = newer.is_some() || matches!(status.outcome, InstanceOutcome::Ended(_));
        Ok(is_news.then_some(status))
    }
}

/// One wait for an instance. Begin it, look, and only then wait: no change is missed.
pub(super) struct Wait {
    watch: Option<ChangeWatch>,
    /// `None` when the deadline lies further away than time can be counted.
    deadline: Option<Instant>,
    pauses: Pauses,
    /// Pauses after failed polls; `None` after one that succeeded.
    trouble: Option<Pauses>,
    wake_ups: WakeUps,
}

impl Wait {
    pub(super) fn begin(client: &Client, scope: ChangeScope<'_>, timeout: Duration) -> Self {
        Self {
            watch: client.provider().watch(scope),
            deadline: Instant::now().checked_add(timeout),
            pauses: Pauses::growing(),
            trouble: None,
            wake_ups: WakeUps::default(),
        }
    }

    /// What a poll read; `None` if it failed for a reason that may pass. The deadline of the wait
    /// bounds how long that goes on.
    pub(super) fn passing<T>(
        &mut self,
        read: Result<T, ProviderError>,
    ) -> Result<Option<T>, ClientError> {
        match read {
            Ok(value) => {
                self.trouble = None;
                Ok(Some(value))
            }
            Err(error) if error.is_retryable() => {
                if self.trouble.is_none() {
                    warn!(
                        target: "duroxide::client",
                        %error,
                        "the store failed during a wait; polling again until the deadline"
                    );
                }
                self.trouble.get_or_insert_with(Pauses::growing);
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The caller's poll interval, for a provider that cannot notify of changes.
    pub(super) fn with_pause(self, pause: Duration) -> Self {
        Self { pauses: Pauses::even(pause), ..self }
    }

    /// Returns when the caller should poll again. The last poll is at the deadline; waiting after
    /// that is the timeout.
    pub(super) async fn for_change(&mut self) -> Result<(), ClientError> {
        let remaining = self.remaining();
        if remaining.is_zero() {
            return Err(ClientError::Timeout);
        }
        if let Some(pauses) = &mut self.trouble {
            // No change is reported for what could not be read.
            sleep(pauses.next().min(remaining)).await;
            return Ok(());
        }
        match &mut self.watch {
            Some(watch) => {
                let pause = remaining.min(CLIENT_WATCH_SAFETY_INTERVAL);
                // Both a change and the end of the pause are reasons to poll.
                let is_woken = timeout(pause, watch.changed()).await.is_ok();
                if is_woken && watch.ending().is_none() {
                    let pause = self.wake_ups.pause(Instant::now()).min(remaining);
                    timeout(pause, ended(watch)).await.unwrap_or_default();
                    // The poll that follows sees what has changed so far.
                    watch.take_change();
                }
            }
            None => sleep(self.pauses.next().min(remaining)).await,
        }
        Ok(())
    }

    /// How the instance completed, if the change reported it.
    fn ending(&self) -> Option<InstanceStatus> {
        self.watch.as_ref()?.ending()
    }

    /// Returns when the nodes of this process have counted what the caller has seen, or at the
    /// deadline.
    async fn reported(&self) {
        if let Some(watch) = &self.watch {
            drop(timeout(self.remaining(), watch.reported()).await);
        }
    }

    fn remaining(&self) -> Duration {
        self.deadline
            .map_or(Duration::MAX, |deadline| deadline.saturating_duration_since(Instant::now()))
    }
}

/// Returns when a change reports how the instance ended.
async fn ended(watch: &mut ChangeWatch) {
    while watch.ending().is_none() {
        watch.changed().await;
    }
}

/// Wake-ups of one wait. After each commit of another process every waiter is woken, since any
/// instance may have changed; the more wake-ups were in vain, the longer it waits for others before
/// it polls.
#[derive(Default)]
struct WakeUps {
    last: Option<Instant>,
    pause: Duration,
}

impl WakeUps {
    /// How long to wait before the poll after a wake-up.
    fn pause(&mut self, now: Instant) -> Duration {
        let is_first = self.last.is_none_or(|last| now - last > CLIENT_WAKE_UP_MEMORY);
        self.last = Some(now);
        let doubled = self.pause.saturating_mul(2);
        self.pause = match is_first {
            true => Duration::ZERO,
            false => doubled.clamp(CLIENT_WAKE_UP_PAUSE_MIN, CLIENT_WAKE_UP_PAUSE_MAX),
        };
        self.pause
    }
}

/// Pauses between two polls of a provider that cannot notify of changes.
struct Pauses {
    next: Duration,
    longest: Duration,
}

impl Pauses {
    /// Doubling from the shortest to the longest pause of the limits.
    fn growing() -> Self {
        Self { next: CLIENT_POLL_PAUSE_MIN, longest: CLIENT_POLL_PAUSE_MAX }
    }

    /// Always the same.
    fn even(pause: Duration) -> Self {
        // A pause of zero would ask without end and let nothing else run.
        let pause = pause.max(Duration::from_millis(1));
        Self { next: pause, longest: pause }
    }

    fn next(&mut self) -> Duration {
        let pause = self.next;
        self.next = pause.saturating_mul(2).min(self.longest);
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growing_pauses_double_up_to_the_longest() {
        let mut pauses = Pauses::growing();
        let seen: Vec<_> = (0..7).map(|_| pauses.next().as_millis()).collect();
        assert_eq!(seen, [5, 10, 20, 40, 80, 100, 100]);
    }

    #[test]
    fn a_wait_that_is_woken_in_vain_polls_ever_less_often() {
        let mut wake_ups = WakeUps::default();
        let start = Instant::now();
        let step = Duration::from_millis(1);
        let seen: Vec<_> = (0..10).map(|n| wake_ups.pause(start + n * step).as_millis()).collect();
        assert_eq!(seen, [0, 1, 2, 4, 8, 16, 32, 64, 128, 200]);
        let later = start + 10 * step + 2 * CLIENT_WAKE_UP_MEMORY;
        assert!(wake_ups.pause(later).is_zero(), "after a quiet time the next poll is at once");
    }

    #[test]
    fn even_pauses_stay_and_are_never_zero() {
        let mut pauses = Pauses::even(Duration::from_millis(30));
        assert_eq!([pauses.next(), pauses.next()], [Duration::from_millis(30); 2]);
        assert!(!Pauses::even(Duration::ZERO).next().is_zero());
    }
}
