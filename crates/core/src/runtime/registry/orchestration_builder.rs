//! Collecting orchestrations.

use std::future::Future;
use std::sync::Arc;

use semver::Version;
use serde::{Serialize, de::DeserializeOwned};

use super::builder::Registration;
use super::versions::{UNVERSIONED, VersionPolicy};
use super::{OrchestrationRegistry, OrchestrationRegistryBuilder};
use crate::context::{FnOrchestration, OrchestrationContext, OrchestrationHandler};
use crate::model::codec;

const DUPLICATE: &str = "duplicate orchestration registration";
const DUPLICATE_IN_MERGE: &str = "duplicate orchestration in merge";

impl OrchestrationRegistryBuilder {
    /// Registers version 1.0.0.
    pub fn register<F, Fut>(mut self, name: impl Into<String>, f: F) -> Self
    where
        F: Fn(OrchestrationContext, String) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<String, String>> + Send + 'static,
    {
        let added = Registration { name: name.into(), version: UNVERSIONED };
        self.add(added, Arc::new(FnOrchestration(f)), DUPLICATE);
        self
    }

    /// Registers version 1.0.0 with decoded input and encoded output. A version 1.0.0 that is
    /// there already is replaced.
    pub fn register_typed<In, Out, F, Fut>(mut self, name: impl Into<String>, f: F) -> Self
    where
        In: DeserializeOwned + Send + 'static,
        Out: Serialize + Send + 'static,
        F: Fn(OrchestrationContext, In) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Out, String>> + Send + 'static,
    {
        // Replaces, unlike `register`: programs written for 0.1 rely on it.
        self.put(Registration { name: name.into(), version: UNVERSIONED }, typed(f));
        self
    }

    /// Registers a version above all that the name has.
    ///
    /// # Panics
    /// When the version is not semver, or not later than the latest of the name.
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

    /// Like [`register_versioned`](Self::register_versioned) with decoded input and encoded
    /// output.
    ///
    /// # Panics
    /// When the version is not semver, or not later than the latest of the name.
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
        self.put_later(name.into(), version.as_ref(), typed(f))
    }

    /// Adds the orchestrations of another registry, without its policies.
    pub fn merge(self, other: OrchestrationRegistry) -> Self {
        self.merge_registry(other, DUPLICATE_IN_MERGE)
    }

    /// Registers version 1.0.0 of each.
    pub fn register_all<F, Fut>(self, handlers: Vec<(&str, F)>) -> Self
    where
        F: Fn(OrchestrationContext, String) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Result<String, String>> + Send + 'static,
    {
        self.register_all_handlers(handlers, |builder, name, f| builder.register(name, f))
    }

    /// Chooses the version that starts without an explicit one get.
    pub fn set_policy(mut self, name: impl Into<String>, policy: VersionPolicy) -> Self {
        self.put_policy(name.into(), policy);
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

fn typed<In, Out, F, Fut>(f: F) -> Arc<dyn OrchestrationHandler>
where
    In: DeserializeOwned + Send + 'static,
    Out: Serialize + Send + 'static,
    F: Fn(OrchestrationContext, In) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Out, String>> + Send + 'static,
{
    Arc::new(FnOrchestration(move |ctx, input: String| {
        let running = codec::decode(&input).map(|input| f(ctx, input));
        async move { codec::encode(&running?.await?) }
    }))
}
