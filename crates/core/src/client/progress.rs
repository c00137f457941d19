//! How far the activities of an instance are.

use std::time::Duration;

use super::wait::Wait;
use super::{Client, ClientError};
use crate::providers::{ActivityProgress, ChangeScope};

impl Client {
    /// What the unfinished activities of an instance have last reported, by execution and activity.
    /// Empty if none has reported, if all are finished, and for an unknown instance.
    pub async fn get_activity_progress(
        &self,
        instance: &str,
    ) -> Result<Vec<ActivityProgress>, ClientError> {
        Ok(self.provider().read_activity_progress(instance).await?)
    }

    /// Waits until the reports differ from those `seen` before. A report that is replaced soon may
    /// be missed; the last one of a running activity is not.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use std::time::Duration;
    ///
    /// # use duroxide::{Client, ClientError};
    /// # async fn example(client: &Client) -> Result<(), ClientError> {
    /// let mut seen = client.get_activity_progress("order-7").await?;
    /// while !seen.is_empty() {
    ///     for report in &seen {
    ///         println!("{}: {}", report.activity_id, report.progress);
    ///     }
    ///     let timeout = Duration::from_secs(30);
    ///     seen = client.wait_for_activity_progress("order-7", &seen, timeout).await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn wait_for_activity_progress(
        &self,
        instance: &str,
        seen: &[ActivityProgress],
        timeout: Duration,
    ) -> Result<Vec<ActivityProgress>, ClientError> {
        let mut wait = Wait::begin(self, ChangeScope::Instance(instance), timeout);
        loop {
            let now = self.get_activity_progress(instance).await?;
            if now != seen {
                return Ok(now);
            }
            wait.for_change().await?;
        }
    }
}
