//! Suspends and resumes instances.

use super::termination::is_over;
use super::{Client, ClientError};
use crate::providers::{ProviderCapability, ProviderErrorKind, SuspendedInstance, Suspension};

impl Client {
    /// Suspends a running instance: it takes no turns until it is
    /// [resumed](Self::resume_instance). Messages to it wait, and so do results of its activities,
    /// which go on. A cancellation by a client ends it at once, as
    /// [`terminate_instance`](Self::terminate_instance) does.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// # use duroxide::{Client, ClientError};
    /// # async fn example(client: &Client) -> Result<(), ClientError> {
    /// client.suspend_instance("order-7", "the payment service is being moved").await?;
    /// assert!(client.get_suspension("order-7").await?.is_some());
    /// client.resume_instance("order-7").await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`InstanceNotFound`](ClientError::InstanceNotFound) for an unknown instance, and an error
    /// for one that has ended.
    pub async fn suspend_instance(
        &self,
        instance: &str,
        reason: impl Into<String>,
    ) -> Result<(), ClientError> {
        let suspended = self.admin()?.suspend_instance(instance, &reason.into()).await;
        suspended.map_err(|error| match error.kind == ProviderErrorKind::NotFound {
            true => ClientError::InstanceNotFound { instance_id: instance.to_owned() },
            false => error.into(),
        })
    }

    /// Lifts the suspension of an instance, whatever caused it; false if it is not suspended. If
    /// its code still disagrees with its history, it is suspended again.
    pub async fn resume_instance(&self, instance: &str) -> Result<bool, ClientError> {
        Ok(self.admin()?.resume_instance(instance).await?)
    }

    /// Why an instance is suspended, and since when; `None` if it is unknown or not suspended.
    pub async fn get_suspension(&self, instance: &str) -> Result<Option<Suspension>, ClientError> {
        Ok(self.admin()?.read_suspension(instance).await?)
    }

    /// Suspended instances in the order of their ids, at most `limit`. To go on, pass the last id
    /// of the page before.
    pub async fn list_suspended_instances(
        &self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<SuspendedInstance>, ClientError> {
        Ok(self.admin()?.list_suspended(after, limit).await?)
    }

    /// Ends a suspended instance for which a cancellation was sent. Its code may not come to the
    /// cancellation: replay fails before, if a turn takes only other messages that wait.
    pub(super) async fn cancel_suspended(
        &self,
        instance: &str,
        reason: &str,
    ) -> Result<(), ClientError> {
        let capabilities = self.provider().capabilities();
        if !capabilities.has(ProviderCapability::Suspension) {
            return Ok(());
        }
        let Ok(admin) = self.admin() else { return Ok(()) };
        if admin.read_suspension(instance).await?.is_none() {
            return Ok(());
        }
        if !capabilities.has(ProviderCapability::Holding) {
            // It takes the turn that cancels it.
            admin.resume_instance(instance).await?;
            return Ok(());
        }
        match self.terminate_instance(instance, reason).await {
            Err(error) if !is_over(&error) => Err(error),
            // Or it has ended meanwhile.
            Ok(()) | Err(_) => Ok(()),
        }
    }
}
