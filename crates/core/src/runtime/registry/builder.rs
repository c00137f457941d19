//! The builder of a registry: what orchestrations and activities have in common.

use std::collections::btree_map::Entry;
use std::sync::Arc;

use semver::Version;
use tracing::error;

use super::Registry;
use super::declarations::Declarations;
use super::mistakes::{RegistrationMistake, RegistryError};
use super::needs::Need;
use super::versions::{Handlers, Policies, VersionPolicy};

/// Collects handlers, and every mistake in their registration. Of two registrations under the same
/// name and version, the first one stays.
///
/// [`try_build`](Self::try_build) returns the mistakes as an error. [`build`](Self::build) logs
/// them and makes the registry from what is valid.
///
/// # Examples
///
/// ```
/// # use duroxide_core as duroxide;
/// use duroxide::runtime::registry::ActivityRegistry;
/// use duroxide::ActivityContext;
///
/// async fn charge(_ctx: ActivityContext, order: String) -> Result<String, String> {
///     Ok(format!("paid: {order}"))
/// }
///
/// let twice = ActivityRegistry::builder().register("Charge", charge).register("Charge", charge);
/// let error = twice.try_build().err().expect("a name is registered once");
/// assert_eq!(error.to_string(), "duplicate activity registration: Charge@1.0.0");
/// ```
#[must_use = "a builder does nothing until it is built"]
pub struct RegistryBuilder<H: ?Sized> {
    handlers: Handlers<H>,
    policies: Policies,
    declarations: Declarations,
    mistakes: Vec<RegistrationMistake>,
}

impl<H: ?Sized> RegistryBuilder<H> {
    pub(super) fn new(
        handlers: Handlers<H>,
        policies: Policies,
        declarations: Declarations,
    ) -> Self {
        Self { handlers, policies, declarations, mistakes: Vec::new() }
    }

    /// Builds the registry from what is valid, and logs every mistake as an error.
    ///
    /// The registry remembers its [mistakes](Registry::mistakes): the runtime builder refuses a
    /// registry that has any. Use [`try_build`](Self::try_build) to get them as an error here.
    pub fn build(self) -> Registry<H> {
        for mistake in &self.mistakes {
            error!(target: "duroxide::runtime", "mistake in a registration: {mistake}");
        }
        self.into_registry()
    }

    /// The registry, with its mistakes.
    pub(super) fn into_registry(self) -> Registry<H> {
        Registry::new(self.handlers, self.policies, self.declarations, self.mistakes)
    }

    /// Builds the registry.
    ///
    /// # Errors
    /// All mistakes in the registrations.
    pub fn try_build(self) -> Result<Registry<H>, RegistryError> {
        RegistryError::check(&self.mistakes)?;
        Ok(self.into_registry())
    }

    /// Builds the registry, like [`try_build`](Self::try_build) with a text as its error.
    ///
    /// # Errors
    /// All mistakes in the registrations, joined by `"; "`.
    pub fn build_result(self) -> Result<Registry<H>, String> {
        self.try_build().map_err(|error| error.to_string())
    }

    /// Declares that replay does not compare the input of this activity or orchestration with the
    /// recorded one. Use it when an input contains what does not matter, such as a description, and
    /// its content changes while instances run. The call that history holds keeps its recorded
    /// input.
    ///
    /// The declaration counts on nodes that run the *caller*. The name itself may be registered on
    /// other nodes only.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use duroxide::runtime::registry::ActivityRegistry;
    ///
    /// let activities = ActivityRegistry::builder().ignore_input_on_replay("Notify").build();
    /// assert!(activities.list_inputs_ignored_on_replay().contains("Notify"));
    /// ```
    pub fn ignore_input_on_replay(mut self, name: impl Into<String>) -> Self {
        let name = name.into();
        self.check_name(&name);
        self.declarations.inputs_ignored.insert(name);
        self
    }

    /// Adds the handlers of another registry, its declarations and its mistakes,
    /// without its policies. A name and version that already has a handler is the mistake
    /// `{error_prefix}: {name}@{version}`.
    pub fn merge_registry(mut self, other: Registry<H>, error_prefix: &str) -> Self {
        self.declarations.extend(other.declarations());
        for (name, versions) in other.handlers() {
            for (version, handler) in versions {
                let added = Registration { name: name.clone(), version: version.clone() };
                self.add(added, Arc::clone(handler), error_prefix);
            }
        }
        self.inherit(other.mistakes());
        self
    }

    /// Adds mistakes of another registry: what it left out is missing here as well.
    pub(super) fn inherit(&mut self, mistakes: &[RegistrationMistake]) {
        for mistake in mistakes {
            if !self.mistakes.contains(mistake) {
                self.mistakes.push(mistake.clone());
            }
        }
    }

    /// Registers every pair with `register`.
    pub fn register_all_handlers<F: Clone>(
        self,
        handlers: Vec<(&str, F)>,
        register: impl Fn(Self, &str, F) -> Self,
    ) -> Self {
        handlers.into_iter().fold(self, |builder, (name, handler)| register(builder, name, handler))
    }

    /// Adds a handler unless its name and version already have one, which is a mistake.
    pub(super) fn add(&mut self, added: Registration, handler: Arc<H>, error_prefix: &str) {
        self.check_name(&added.name);
        let Registration { name, version } = added;
        match self.handlers.entry(name.clone()).or_default().entry(version) {
            Entry::Vacant(free) => {
                free.insert(handler);
            }
            Entry::Occupied(existing) => {
                let (context, version) = (error_prefix.to_owned(), existing.key().clone());
                self.mistakes.push(RegistrationMistake::Duplicate { context, name, version });
            }
        }
    }

    /// Adds a handler, and replaces the one that may already have its name and version.
    pub(super) fn put(&mut self, added: Registration, handler: Arc<H>) {
        self.check_name(&added.name);
        self.handlers.entry(added.name).or_default().insert(added.version, handler);
    }

    fn check_name(&mut self, name: &str) {
        if name.is_empty() {
            self.add_mistake(RegistrationMistake::EmptyName);
        }
    }

    pub(super) fn has_version(&self, name: &str, version: &Version) -> bool {
        self.handlers.get(name).is_some_and(|versions| versions.contains_key(version))
    }

    pub(super) fn latest(&self, name: &str) -> Option<&Version> {
        self.handlers.get(name)?.last_key_value().map(|(version, _handler)| version)
    }

    pub(super) fn put_policy(&mut self, name: String, policy: VersionPolicy) {
        self.policies.insert(name, policy);
    }

    /// Adds a function that a registered orchestration calls.
    pub(super) fn add_need(&mut self, need: Need) {
        self.declarations.needs.push(need);
    }

    /// Declares that other nodes have the handler of this name.
    pub(super) fn declare_elsewhere(&mut self, name: &str) {
        self.declarations.elsewhere.insert(name.to_owned());
    }

    pub(super) fn add_mistake(&mut self, mistake: RegistrationMistake) {
        self.mistakes.push(mistake);
    }
}

// Not derived: a derive requires the handler itself to be `Default`.
impl<H: ?Sized> Default for RegistryBuilder<H> {
    fn default() -> Self {
        Registry::builder()
    }
}

/// The name and version of a handler.
pub(super) struct Registration {
    pub(super) name: String,
    pub(super) version: Version,
}
