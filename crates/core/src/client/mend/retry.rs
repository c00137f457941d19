//! Runs a failed instance again from its failure.

use super::options::{MendOptions, MendPoint};
use super::plan::MendPlan;
use super::planning::{Request, not_failed};
use crate::client::{Client, ClientError};
use crate::model::ExecutionStatus;

impl Client {
    /// Retries a failed instance from its failure: the call that failed runs again, and everything
    /// before it is kept. Returns what was done.
    ///
    /// - It covers every failure: of an activity or a child, a poisoned one included, of the code
    ///   itself, of a turn that no node could run, and an instance that was cancelled or
    ///   terminated, which continues as if it had not been.
    /// - A child that failed is retried with its parent. The attempts of a retry policy are
    ///   activities of their own: the last of them runs again.
    /// - The instance continues as a new execution; the failed one keeps its history and result.
    /// - The call may be repeated: it finishes what an interrupted call has left.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// # use duroxide::{Client, ClientError};
    /// use duroxide::client::MendOptions;
    ///
    /// # async fn example(client: &Client) -> Result<(), ClientError> {
    /// let options = MendOptions::default().with_reason("the bank has recovered");
    /// // runs again: activity Charge of event 4, failed: the bank is closed
    /// println!("{}", client.plan_retry("order-7", &options).await?);
    /// client.retry_instance("order-7", &options).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`InstanceNotFound`](ClientError::InstanceNotFound) for an unknown instance, an error of the
    /// kind [`Conflict`](crate::providers::ProviderErrorKind::Conflict) for one that has not failed
    /// or that another call has mended meanwhile, and
    /// [`InvalidInput`](ClientError::InvalidInput) for one that cannot be mended in this way.
    pub async fn retry_instance(
        &self,
        instance: &str,
        options: &MendOptions,
    ) -> Result<MendPlan, ClientError> {
        let request = Request::new(MendPoint::LastFailed, None, options);
        let source = self.read_source(instance).await?;
        if source.status() == ExecutionStatus::Running {
            let finished = self.finish_interrupted(&source, &request).await?;
            return finished.ok_or_else(|| not_failed(&source));
        }
        self.mend_in_place(instance, request).await
    }

    /// What [`retry_instance`](Self::retry_instance) would do. It changes nothing.
    ///
    /// # Errors
    /// Those of the act itself.
    pub async fn plan_retry(
        &self,
        instance: &str,
        options: &MendOptions,
    ) -> Result<MendPlan, ClientError> {
        let request = Request::new(MendPoint::LastFailed, None, options);
        self.plan_mending(instance, request).await
    }
}
