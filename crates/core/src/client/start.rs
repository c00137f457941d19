//! Starting root instances.

use serde::Serialize;

use super::handle::encode;
use super::{Client, ClientError};
use crate::model::{INITIAL_EXECUTION_ID, WorkItem, ids};

/// A root start, before it is checked.
struct Start {
    instance: String,
    orchestration: String,
    version: Option<String>,
    input: String,
}

impl Start {
    /// What can be known to be wrong before any node has seen it.
    fn check(&self) -> Result<(), String> {
        if let Some(message) = ids::refuse_root_id(&self.instance) {
            return Err(message);
        }
        if self.instance.is_empty() {
            return Err("an instance needs an id that is not empty".to_owned());
        }
        if self.orchestration.is_empty() {
            return Err(format!("the start of '{}' names no orchestration", self.instance));
        }
        if let Some(version) = &self.version
            && let Err(error) = semver::Version::parse(version)
        {
            return Err(format!(
                "'{version}' is no semantic version of '{}' ({error}): use one like 1.2.0",
                self.orchestration
            ));
        }
        Ok(())
    }
}

impl Client {
    /// Asks for a new instance; the node that takes it chooses the version by its registry.
    ///
    /// - `Ok` says that the request is stored, not that the instance runs.
    /// - A start of an instance that exists is ignored when it is processed.
    /// - Ids that use the marker of generated child ids are refused, and so are an empty id and an
    ///   empty name.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// # use duroxide::{Client, ClientError};
    /// # async fn example(client: &Client) -> Result<(), ClientError> {
    /// client.start_orchestration("order-7", "PlaceOrder", "3 apples").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn start_orchestration(
        &self,
        instance: impl Into<String>,
        orchestration: impl Into<String>,
        input: impl Into<String>,
    ) -> Result<(), ClientError> {
        self.start(Start {
            instance: instance.into(),
            orchestration: orchestration.into(),
            version: None,
            input: input.into(),
        })
        .await
    }

    /// Like [`start_orchestration`](Self::start_orchestration) with a fixed version. A version
    /// that no node has waits for one that has it; a text that is no semantic version is refused.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// # use duroxide::{Client, ClientError};
    /// # async fn example(client: &Client) -> Result<(), ClientError> {
    /// client.start_orchestration_versioned("order-7", "PlaceOrder", "2.1.0", "3 apples").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn start_orchestration_versioned(
        &self,
        instance: impl Into<String>,
        orchestration: impl Into<String>,
        version: impl Into<String>,
        input: impl Into<String>,
    ) -> Result<(), ClientError> {
        self.start(Start {
            instance: instance.into(),
            orchestration: orchestration.into(),
            version: Some(version.into()),
            input: input.into(),
        })
        .await
    }

    /// Like [`start_orchestration`](Self::start_orchestration) with an encoded input.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use duroxide::{Client, ClientError};
    ///
    /// #[derive(serde::Serialize)]
    /// struct Order {
    ///     article: String,
    ///     quantity: u32,
    /// }
    ///
    /// # async fn example(client: &Client) -> Result<(), ClientError> {
    /// let order = Order { article: "apple".to_owned(), quantity: 3 };
    /// client.start_orchestration_typed("order-7", "PlaceOrder", order).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn start_orchestration_typed<In: Serialize>(
        &self,
        instance: impl Into<String>,
        orchestration: impl Into<String>,
        input: In,
    ) -> Result<(), ClientError> {
        self.start_orchestration(instance, orchestration, encode(&input)?).await
    }

    /// Like [`start_orchestration_versioned`](Self::start_orchestration_versioned) with an
    /// encoded input.
    pub async fn start_orchestration_versioned_typed<In: Serialize>(
        &self,
        instance: impl Into<String>,
        orchestration: impl Into<String>,
        version: impl Into<String>,
        input: In,
    ) -> Result<(), ClientError> {
        self.start_orchestration_versioned(instance, orchestration, version, encode(&input)?).await
    }

    async fn start(&self, start: Start) -> Result<(), ClientError> {
        start.check().map_err(|message| ClientError::InvalidInput { message })?;
        self.send(WorkItem::StartOrchestration {
            instance: start.instance,
            orchestration: start.orchestration,
            input: start.input,
            version: start.version,
            parent_instance: None,
            parent_id: None,
            parent_execution_id: None,
            execution_id: INITIAL_EXECUTION_ID,
        })
        .await
    }
}
