//! The builder of an orchestration registry.

use std::future::Future;
use std::sync::Arc;

use semver::Version;
use serde::{Serialize, de::DeserializeOwned};

use super::builder::Registration;
use super::mistakes::RegistrationMistake;
use super::versions::{UNVERSIONED, VersionPolicy};
use super::{OrchestrationRegistry, OrchestrationRegistryBuilder};
use crate::context::{FnOrchestration, OrchestrationContext, OrchestrationHandler};
use crate::model::codec;

const DUPLICATE: &str = "duplicate orchestration registration";
const DUPLICATE_IN_MERGE: &str = "duplicate orchestration in merge";

impl OrchestrationRegistryBuilder {
    /// Registers version 1.0.0 of an orchestration.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use duroxide::OrchestrationContext;
    /// use duroxide::runtime::registry::OrchestrationRegistry;
    ///
    /// async fn place_order(ctx: OrchestrationContext, order: String) -> Result<String, String> {
    ///     ctx.schedule_activity("Charge", order.clone()).await?;
    ///     ctx.schedule_activity("Ship", order).await
    /// }
    ///
    /// let orchestrations =
    ///     OrchestrationRegistry::builder().register("PlaceOrder", place_order).build();
    /// assert!(orchestrations.has("PlaceOrder"));
    /// ```
    pub fn register<F, Fut>(mut self, name: impl Into<String>, f: F) -> Self
    where
        F: Fn(OrchestrationContext, String) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<String, String>> + Send + 'static,
    {
        let added = Registration { name: name.into(), version: UNVERSIONED };
        self.add(added, Arc::new(FnOrchestration(f)), DUPLICATE);
        self
    }

    /// Registers version 1.0.0 of an orchestration whose input is decoded and whose output is
    /// encoded. It replaces an earlier registration of version 1.0.0.
    pub fn register_typed<In, Out, F, Fut>(mut self, name: impl Into<String>, f: F) -> Self
    where
        In: DeserializeOwned + Send + 'static,
        Out: Serialize + Send + 'static,
        F: Fn(OrchestrationContext, In) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Out, String>> + Send + 'static,
    {
        // Replaces, unlike `register`: programs written for 0.1.x rely on it.
        let name = name.into();
        let handler = typed(name.clone(), f);
        self.put(Registration { name, version: UNVERSIONED }, handler);
        self
    }

    /// Registers a version that is later than every registered version of the name.
    ///
    /// [`register_at_version`](Self::register_at_version) accepts versions in any order and does
    /// not panic. A version that is registered already is a mistake, and the first one stays.
    ///
    /// # Panics
    /// When the version is not a semantic version, or earlier than the latest of the name.
    pub fn register_versioned<F, Fut>(
        self,
        name: impl Into<String>,
        version: impl AsRef<str>,
        f: F,
    ) -> Self
    where
        F: Fn(OrchestrationContext, String) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<String, String>> + Send + 'static,
    {
        self.put_later(name.into(), version.as_ref(), Arc::new(FnOrchestration(f)))
    }

    /// The typed form of [`register_versioned`](Self::register_versioned).
    ///
    /// # Panics
    /// When the version is not a semantic version, or earlier than the latest of the name.
    pub fn register_versioned_typed<In, Out, F, Fut>(
        self,
        name: impl Into<String>,
        version: impl AsRef<str>,
        f: F,
    ) -> Self
    where
        In: DeserializeOwned + Send + 'static,
        Out: Serialize + Send + 'static,
        F: Fn(OrchestrationContext, In) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Out, String>> + Send + 'static,
    {
        let name = name.into();
        let handler = typed(name.clone(), f);
        self.put_later(name, version.as_ref(), handler)
    }

    /// Registers one version of an orchestration. Versions may come in any order; a version that
    /// is not a semantic version or is already registered is a mistake, not a panic.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use duroxide::OrchestrationContext;
    /// use duroxide::runtime::registry::OrchestrationRegistry;
    ///
    /// async fn old(ctx: OrchestrationContext, order: String) -> Result<String, String> {
    ///     ctx.schedule_activity("Ship", order).await
    /// }
    ///
    /// async fn new(ctx: OrchestrationContext, order: String) -> Result<String, String> {
    ///     ctx.schedule_activity("Charge", order.clone()).await?;
    ///     ctx.schedule_activity("Ship", order).await
    /// }
    ///
    /// let orchestrations = OrchestrationRegistry::builder()
    ///     .register_at_version("PlaceOrder", "2.0.0", new)
    ///     .register_at_version("PlaceOrder", "1.0.0", old)
    ///     .try_build()?;
    /// let latest = orchestrations.resolve_version("PlaceOrder");
    /// assert_eq!(latest.map(|version| version.major), Some(2));
    /// # Ok::<(), duroxide::runtime::registry::RegistryError>(())
    /// ```
    pub fn register_at_version<F, Fut>(
        self,
        name: impl Into<String>,
        version: impl AsRef<str>,
        f: F,
    ) -> Self
    where
        F: Fn(OrchestrationContext, String) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<String, String>> + Send + 'static,
    {
        self.add_at_version(name.into(), version.as_ref(), Arc::new(FnOrchestration(f)))
    }

    /// The typed form of [`register_at_version`](Self::register_at_version).
    pub fn register_at_version_typed<In, Out, F, Fut>(
        self,
        name: impl Into<String>,
        version: impl AsRef<str>,
        f: F,
    ) -> Self
    where
        In: DeserializeOwned + Send + 'static,
        Out: Serialize + Send + 'static,
        F: Fn(OrchestrationContext, In) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Out, String>> + Send + 'static,
    {
        let name = name.into();
        let handler = typed(name.clone(), f);
        self.add_at_version(name, version.as_ref(), handler)
    }

    /// Adds the orchestrations of another registry, without its policies.
    pub fn merge(self, other: OrchestrationRegistry) -> Self {
        self.merge_registry(other, DUPLICATE_IN_MERGE)
    }

    /// Registers version 1.0.0 of every pair of a name and an orchestration.
    pub fn register_all<F, Fut>(self, handlers: Vec<(&str, F)>) -> Self
    where
        F: Fn(OrchestrationContext, String) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Result<String, String>> + Send + 'static,
    {
        self.register_all_handlers(handlers, |builder, name, f| builder.register(name, f))
    }

    /// Chooses the version that a start without an explicit version gets.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use duroxide::OrchestrationContext;
    /// use duroxide::runtime::VersionPolicy;
    /// use duroxide::runtime::registry::OrchestrationRegistry;
    ///
    /// async fn place_order(_ctx: OrchestrationContext, order: String) -> Result<String, String> {
    ///     Ok(order)
    /// }
    ///
    /// // New orders stay on 1.0.0 until every node has 2.0.0.
    /// let orchestrations = OrchestrationRegistry::builder()
    ///     .register("PlaceOrder", place_order)
    ///     .register_versioned("PlaceOrder", "2.0.0", place_order)
    ///     .set_policy("PlaceOrder", VersionPolicy::Exact(semver::Version::new(1, 0, 0)))
    ///     .build();
    /// assert_eq!(orchestrations.resolve_version("PlaceOrder").map(|v| v.major), Some(1));
    ///
    /// orchestrations.set_version_policy("PlaceOrder", VersionPolicy::Latest);
    /// assert_eq!(orchestrations.resolve_version("PlaceOrder").map(|v| v.major), Some(2));
    /// ```
    pub fn set_policy(mut self, name: impl Into<String>, policy: VersionPolicy) -> Self {
        self.put_policy(name.into(), policy);
        self
    }

    fn add_at_version(
        mut self,
        name: String,
        version: &str,
        handler: Arc<dyn OrchestrationHandler>,
    ) -> Self {
        match Version::parse(version) {
            Ok(version) => self.add(Registration { name, version }, handler, DUPLICATE),
            Err(error) => self.add_mistake(RegistrationMistake::InvalidVersion {
                name,
                version: version.to_owned(),
                reason: error.to_string(),
            }),
        }
        self
    }

    fn put_later(
        mut self,
        name: String,
        version: &str,
        handler: Arc<dyn OrchestrationHandler>,
    ) -> Self {
        let version = Version::parse(version).unwrap_or_else(|error| {
            panic!("invalid orchestration version '{version}' for {name}: {error}")
        });
        if self.has_version(&name, &version) {
            self.add(Registration { name, version }, handler, DUPLICATE);
            return self;
        }
        if let Some(latest) = self.latest(&name) {
            assert!(
                version > *latest,
                "non-monotonic orchestration version for {name}: {version} is not later than \
                 existing latest {latest}"
            );
        }
        self.put(Registration { name, version }, handler);
        self
    }
}

fn typed<In, Out, F, Fut>(name: String, f: F) -> Arc<dyn OrchestrationHandler>
where
    In: DeserializeOwned + Send + 'static,
    Out: Serialize + Send + 'static,
    F: Fn(OrchestrationContext, In) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Out, String>> + Send + 'static,
{
    Arc::new(FnOrchestration(move |ctx, input: String| {
        let what = || format!("the input of orchestration '{name}'");
        let running = codec::decode_as(what, &input).map(|input| f(ctx, input));
        async move { codec::encode(&running?.await?) }
    }))
}
