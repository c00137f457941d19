//! Resets an instance to an event.

use super::options::{MendOptions, MendPoint};
use super::plan::MendPlan;
use super::planning::Request;
use crate::client::{Client, ClientError};

impl Client {
    /// Resets an instance to an event of its latest execution: what came after it is dropped or
    /// arrives again, as the options say, and the code goes on from there. Returns what was done.
    ///
    /// - An instance that runs is taken from its node and its activities are cancelled; those that
    ///   the kept events wait for run again.
    /// - Results of kept calls that came later arrive again by default, in their order.
    /// - Children of calls that are not kept are cancelled.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// # use duroxide::{Client, ClientError};
    /// use duroxide::client::{MendOptions, MendPoint};
    ///
    /// # async fn example(client: &Client) -> Result<(), ClientError> {
    /// let options = MendOptions::default().with_reason("wrong address");
    /// client.reset_instance("order-7", MendPoint::Event(12), &options).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As of [`retry_instance`](Self::retry_instance).
    pub async fn reset_instance(
        &self,
        instance: &str,
        point: MendPoint,
        options: &MendOptions,
    ) -> Result<MendPlan, ClientError> {
        // Nothing is held for a request that is refused.
        let request = Request::new(point, None, options);
        self.plan_mending(instance, request).await?;
        self.mend_in_place(instance, request).await
    }

    /// What [`reset_instance`](Self::reset_instance) would do. It changes nothing.
    ///
    /// # Errors
    /// Those of the act itself.
    pub async fn plan_reset(
        &self,
        instance: &str,
        point: MendPoint,
        options: &MendOptions,
    ) -> Result<MendPlan, ClientError> {
        self.plan_mending(instance, Request::new(point, None, options)).await
    }
}
