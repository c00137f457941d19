//! Continues a copy of an instance under another id.

use super::options::{MendOptions, MendPoint};
use super::plan::MendPlan;
use super::planning::Request;
use super::source::refused;
use crate::client::{Client, ClientError};
use crate::limits::MAX_ID_BYTES;
use crate::model::ids::refuse_root_id;

impl Client {
    /// Continues the events of an instance up to a point under a new id, as a root instance. The
    /// original goes on or stays as it is. Returns what was done.
    ///
    /// Activities and children that the kept events wait for run for the fork too.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// # use duroxide::{Client, ClientError};
    /// use duroxide::client::{MendOptions, MendPoint};
    ///
    /// # async fn example(client: &Client) -> Result<(), ClientError> {
    /// let options = MendOptions::default();
    /// client.fork_instance("order-7", "order-7-again", MendPoint::First, &options).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As of [`retry_instance`](Self::retry_instance), and an error of the kind
    /// [`Conflict`](crate::providers::ProviderErrorKind::Conflict) if the new id exists.
    pub async fn fork_instance(
        &self,
        instance: &str,
        fork: &str,
        point: MendPoint,
        options: &MendOptions,
    ) -> Result<MendPlan, ClientError> {
        check_id(instance, fork)?;
        self.fork(instance, Request::new(point, Some(fork), options)).await
    }

    /// What [`fork_instance`](Self::fork_instance) would do. It changes nothing.
    ///
    /// # Errors
    /// Those of the act itself.
    pub async fn plan_fork(
        &self,
        instance: &str,
        fork: &str,
        point: MendPoint,
        options: &MendOptions,
    ) -> Result<MendPlan, ClientError> {
        check_id(instance, fork)?;
        self.require_new(fork).await?;
        self.plan_mending(instance, Request::new(point, Some(fork), options)).await
    }
}

fn check_id(instance: &str, fork: &str) -> Result<(), ClientError> {
    if fork.is_empty() || fork == instance {
        return Err(refused("a fork needs an id of its own".to_owned()));
    }
    if fork.len() > MAX_ID_BYTES {
        return Err(refused(format!("an instance id has at most {MAX_ID_BYTES} bytes")));
    }
    refuse_root_id(fork).map_or(Ok(()), |text| Err(refused(text)))
}
