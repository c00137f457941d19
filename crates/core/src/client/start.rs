//! Starting root instances.

use std::collections::BTreeMap;

use serde::Serialize;

use super::handle::encode;
use super::{Client, ClientError};
use crate::model::attribute::{refuse_attribute, refuse_count};
use crate::model::stored_attribute::encode_attribute;
use crate::model::{AttributeValue, WorkItem, ids};
use crate::providers::{ClientMessage, Delivery};

/// A root instance to be started.
///
/// # Examples
///
/// ```
/// use duroxide_core as duroxide;
/// use duroxide::client::StartRequest;
///
/// let start = StartRequest::new("order-7", "PlaceOrder").with_input("3 apples");
/// let of_a_fixed_version = start.clone().with_version("2.1.0");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a request does nothing until a client sends it"]
pub struct StartRequest {
    instance: String,
    orchestration: String,
    version: Option<String>,
    input: String,
    attributes: BTreeMap<String, String>,
    /// Why the attributes are refused.
    refusal: Option<String>,
}

/// What a start found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Started {
    /// No instance had this id; the start is stored.
    New,
    /// An instance of this id exists, finished or not, or its start is queued; nothing changed.
    Existing,
}

impl StartRequest {
    /// A start with an empty input; the node that takes it chooses the version by its registry.
    pub fn new(instance: impl Into<String>, orchestration: impl Into<String>) -> Self {
        Self {
            instance: instance.into(),
            orchestration: orchestration.into(),
            version: None,
            input: String::new(),
            attributes: BTreeMap::new(),
            refusal: None,
        }
    }

    /// Sets the input.
    pub fn with_input(mut self, input: impl Into<String>) -> Self {
        self.input = input.into();
        self
    }

    /// Sets a typed input, which is encoded.
    ///
    /// # Errors
    /// When the input cannot be encoded.
    pub fn with_typed_input<In: Serialize>(self, input: &In) -> Result<Self, ClientError> {
        Ok(self.with_input(encode(input)?))
    }

    /// Fixes the version.
    pub fn with_version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }

    /// Gives the instance a search attribute, by which queries find it from its first turn on: at
    /// most 32, each with a name of up to 64 letters, digits, `_`, `.` and `-`, and a text of up to
    /// 256 bytes. Others are refused when the request is sent.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use duroxide::client::StartRequest;
    ///
    /// # use duroxide::{Client, ClientError};
    /// # async fn example(client: &Client) -> Result<(), ClientError> {
    /// let start = StartRequest::new("order-7", "PlaceOrder")
    ///     .with_attribute("customer", 42)
    ///     .with_attribute("region", "eu-west");
    /// // Found by the filter `attr.customer=42 attr.region:eu-*`.
    /// client.start_if_new(start).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn with_attribute(mut self, name: &str, value: impl Into<AttributeValue>) -> Self {
        let value = value.into();
        let refusal = refuse_attribute(name, &value);
        self.attributes.insert(name.to_owned(), encode_attribute(&value));
        self.refusal = self.refusal.or(refusal).or_else(|| refuse_count(self.attributes.len()));
        self
    }

    fn into_message(self) -> Result<ClientMessage, ClientError> {
        if let Some(message) = self.refusal {
            return Err(ClientError::InvalidInput { message });
        }
        let mut message = ClientMessage::start(self.instance, self.orchestration, self.input);
        message.attributes = self.attributes;
        if let WorkItem::StartOrchestration { version, .. } = &mut message.item {
            *version = self.version;
        }
        Ok(message)
    }
}

/// Why a message is refused as a start, if it is one: what can be known to be wrong before any node
/// has seen it.
pub(super) fn refuse_start(message: &WorkItem) -> Option<String> {
    let WorkItem::StartOrchestration { instance, orchestration, version, .. } = message else {
        return None;
    };
    if let Some(message) = ids::refuse_root_id(instance) {
        return Some(message);
    }
    if instance.is_empty() {
        return Some("an instance needs an id that is not empty".to_owned());
    }
    if orchestration.is_empty() {
        return Some(format!("the start of '{instance}' names no orchestration"));
    }
    let version = version.as_deref()?;
    let error = semver::Version::parse(version).err()?;
    Some(format!(
        "'{version}' is no semantic version of '{orchestration}' ({error}): use one like 1.2.0"
    ))
}

impl Client {
    /// Asks for a new instance; the node that takes it chooses the version by its registry.
    ///
    /// - `Ok` says that the request is stored, not that the instance runs.
    /// - A start of an instance that exists is ignored when it is processed; to be notified of
    ///   that, use [`start_if_new`](Self::start_if_new).
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
        self.start_with(StartRequest::new(instance, orchestration).with_input(input)).await
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
        let start = StartRequest::new(instance, orchestration).with_input(input);
        self.start_with(start.with_version(version)).await
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

    /// Asks for a new instance, and returns whether it is new. Of two callers at once, one gets
    /// [`Started::New`].
    ///
    /// # Errors
    /// As [`start_orchestration`](Self::start_orchestration), and when the provider cannot decide
    /// it.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use duroxide::client::{StartRequest, Started};
    ///
    /// # use duroxide::{Client, ClientError};
    /// # async fn example(client: &Client) -> Result<(), ClientError> {
    /// let start = StartRequest::new("order-7", "PlaceOrder").with_input("3 apples");
    /// match client.start_if_new(start).await? {
    ///     Started::New => println!("ordered"),
    ///     Started::Existing => println!("it was ordered before"),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn start_if_new(&self, start: StartRequest) -> Result<Started, ClientError> {
        Ok(match self.deliver(start.into_message()?).await? {
            Delivery::Existing => Started::Existing,
            // Without an id of the caller, only this call can have been repeated.
            Delivery::Enqueued | Delivery::Repeated | Delivery::NotFound => Started::New,
        })
    }

    /// Asks for a new instance. A start of one that exists is ignored; to be notified of that, use
    /// [`start_if_new`](Self::start_if_new).
    ///
    /// # Errors
    /// As [`start_orchestration`](Self::start_orchestration), and if the request has attributes
    /// that are refused or that the store does not keep.
    pub async fn start_with(&self, start: StartRequest) -> Result<(), ClientError> {
        let message = start.into_message()?;
        if !message.attributes.is_empty() {
            return self.deliver(message).await.map(drop);
        }
        if let Some(message) = refuse_start(&message.item) {
            return Err(ClientError::InvalidInput { message });
        }
        self.send(message.item).await
    }
}
