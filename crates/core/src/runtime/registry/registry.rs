//! Lookup of handlers by name and version.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError, RwLock};

use semver::Version;

use super::RegistryBuilder;
use super::declarations::Declarations;
use super::mistakes::{RegistrationMistake, RegistryError};
use super::needs::Need;
use super::versions::{Handlers, Policies, VersionPolicy};

const DUPLICATE_IN_EXTENSION: &str = "duplicate registration";

/// Registered handlers. Clones share everything, policies included: a policy that a program sets
/// on its clone takes effect in a runtime that has another clone.
pub struct Registry<H: ?Sized> {
    handlers: Arc<Handlers<H>>,
    policies: Arc<RwLock<Policies>>,
    declarations: Arc<Declarations>,
    mistakes: Arc<[RegistrationMistake]>,
}

impl<H: ?Sized> Registry<H> {
    /// Returns an empty builder.
    pub fn builder() -> RegistryBuilder<H> {
        RegistryBuilder::new(Handlers::new(), Policies::new(), Declarations::default())
    }

    /// Returns a builder that starts with the handlers, policies and mistakes of `registry`.
    pub fn builder_from(registry: &Registry<H>) -> RegistryBuilder<H> {
        let mut builder = RegistryBuilder::new(
            registry.handlers.as_ref().clone(),
            registry.read_policies().clone(),
            registry.declarations.as_ref().clone(),
        );
        builder.inherit(&registry.mistakes);
        builder
    }

    /// This registry with the handlers, declarations and mistakes of a builder. It shares its
    /// policies with this one.
    pub fn extended(&self, added: RegistryBuilder<H>) -> Self {
        let builder = Self::builder_from(self);
        let extended = builder.merge_registry(added.into_registry(), DUPLICATE_IN_EXTENSION);
        Self { policies: Arc::clone(&self.policies), ..extended.into_registry() }
    }

    pub(super) fn new(
        handlers: Handlers<H>,
        policies: Policies,
        declarations: Declarations,
        mistakes: Vec<RegistrationMistake>,
    ) -> Self {
        Self {
            handlers: Arc::new(handlers),
            policies: Arc::new(RwLock::new(policies)),
            declarations: Arc::new(declarations),
            mistakes: mistakes.into(),
        }
    }

    pub(super) fn handlers(&self) -> &Handlers<H> {
        &self.handlers
    }

    pub(super) fn declarations(&self) -> &Declarations {
        &self.declarations
    }

    /// What the registered orchestrations call.
    pub(super) fn needs(&self) -> &[Need] {
        &self.declarations.needs
    }

    /// Whether the name is registered here or declared to be elsewhere.
    pub(super) fn knows(&self, name: &str) -> bool {
        self.has(name) || self.declarations.elsewhere.contains(name)
    }

    /// The mistakes that [`build`](RegistryBuilder::build) found and logged.
    pub fn mistakes(&self) -> &[RegistrationMistake] {
        &self.mistakes
    }

    /// Succeeds if the registry was built without mistakes.
    ///
    /// # Errors
    /// All mistakes in the registrations.
    pub fn validate(&self) -> Result<(), RegistryError> {
        RegistryError::check(&self.mistakes)
    }

    /// The handler that a start without an explicit version gets, and its version.
    pub fn resolve_handler(&self, name: &str) -> Option<(Version, Arc<H>)> {
        let versions = self.handlers.get(name)?;
        let (version, handler) = match self.read_policies().get(name) {
            Some(VersionPolicy::Exact(version)) => versions.get_key_value(version)?,
            Some(VersionPolicy::Latest) | None => versions.last_key_value()?,
        };
        Some((version.clone(), Arc::clone(handler)))
    }

    /// The version that a start without an explicit version gets.
    pub fn resolve_version(&self, name: &str) -> Option<Version> {
        self.resolve_handler(name).map(|(version, _handler)| version)
    }

    /// The handler of exactly this version.
    pub fn resolve_handler_exact(&self, name: &str, version: &Version) -> Option<Arc<H>> {
        self.handlers.get(name)?.get(version).cloned()
    }

    /// Chooses the version for later starts. A running execution keeps its version.
    pub fn set_version_policy(&self, name: &str, policy: VersionPolicy) {
        self.policies
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(name.to_owned(), policy);
    }

    /// The names whose inputs replay does not compare, sorted. Not all of them need to be
    /// registered here.
    pub fn list_inputs_ignored_on_replay(&self) -> &BTreeSet<String> {
        &self.declarations.inputs_ignored
    }

    /// All names, sorted.
    pub fn list_names(&self) -> Vec<String> {
        self.handlers.keys().cloned().collect()
    }

    /// The versions of one name, ascending.
    pub fn list_versions(&self, name: &str) -> Vec<Version> {
        self.handlers
            .get(name)
            .map(|versions| versions.keys().cloned().collect())
            .unwrap_or_default()
    }

    /// Whether the name is registered, in any version.
    pub fn has(&self, name: &str) -> bool {
        self.handlers.contains_key(name)
    }

    /// The number of registered names.
    pub fn count(&self) -> usize {
        self.handlers.len()
    }

    fn read_policies(&self) -> std::sync::RwLockReadGuard<'_, Policies> {
        self.policies.read().unwrap_or_else(PoisonError::into_inner)
    }
}

// Not derived: a derive requires the handler itself to be `Clone` and `Default`.
impl<H: ?Sized> Clone for Registry<H> {
    fn clone(&self) -> Self {
        Self {
            handlers: Arc::clone(&self.handlers),
            policies: Arc::clone(&self.policies),
            declarations: Arc::clone(&self.declarations),
            mistakes: Arc::clone(&self.mistakes),
        }
    }
}

impl<H: ?Sized> Default for Registry<H> {
    fn default() -> Self {
        Self::new(Handlers::new(), Policies::new(), Declarations::default(), Vec::new())
    }
}
