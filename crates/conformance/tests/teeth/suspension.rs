//! Faults of suspensions.

use duroxide_core::providers::{
    Provider, ProviderAdmin, ProviderError, ProviderErrorKind, SuspendedInstance, Suspension,
};

use crate::fault::Fault;
use crate::provider::FaultyProvider;

const PAGE: u32 = 1_000;

impl FaultyProvider {
    /// Suspends a turn with the fault.
    pub(crate) async fn faulty_suspend_turn(
        &self,
        token: &str,
        reason: &str,
    ) -> Result<(), ProviderError> {
        if self.has(Fault::SuspensionOnlyReleases) {
            return self.inner.abandon_orchestration_item(token, None, true).await;
        }
        self.inner.suspend_turn(token, reason).await
    }

    /// Retries suspended instances with the fault.
    pub(crate) async fn faulty_retry(&self) -> Result<u64, ProviderError> {
        if !self.has(Fault::OperatorSuspensionRetried) {
            return self.inner.retry_suspended().await;
        }
        let suspended = self.inner.list_suspended(None, PAGE).await?;
        for instance in &suspended {
            self.inner.resume_instance(&instance.instance_id).await?;
        }
        Ok(suspended.len() as u64)
    }

    /// Suspends an instance with the fault.
    pub(crate) async fn faulty_suspend_instance(
        &self,
        instance: &str,
        reason: &str,
    ) -> Result<(), ProviderError> {
        match self.inner.suspend_instance(instance, reason).await {
            Err(error)
                if self.has(Fault::EndedSuspended) && error.kind == ProviderErrorKind::Conflict =>
            {
                Ok(())
            }
            suspended => suspended,
        }
    }

    /// Resumes an instance with the fault.
    pub(crate) async fn faulty_resume(&self, instance: &str) -> Result<bool, ProviderError> {
        if self.has(Fault::ResumeWithoutEffect) {
            return Ok(self.inner.read_suspension(instance).await?.is_some());
        }
        self.inner.resume_instance(instance).await
    }

    /// Reads a suspension with the fault.
    pub(crate) async fn faulty_suspension(
        &self,
        instance: &str,
    ) -> Result<Option<Suspension>, ProviderError> {
        let found = self.inner.read_suspension(instance).await?;
        Ok(found.filter(|_| !self.has(Fault::SuspensionHidden)))
    }

    /// Lists suspended instances with the fault.
    pub(crate) async fn faulty_suspended(
        &self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<SuspendedInstance>, ProviderError> {
        let after = after.filter(|_| !self.has(Fault::SuspendedPageIgnored));
        self.inner.list_suspended(after, limit).await
    }
}
