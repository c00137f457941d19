//! Collecting handlers; what is common to orchestrations and activities.

use std::collections::btree_map::Entry;
use std::sync::Arc;

use semver::Version;

use super::Registry;
use super::versions::{Handlers, Policies, VersionPolicy};

/// Collects handlers and the mistakes made on the way. The first of two equal registrations stays.
pub struct RegistryBuilder<H: ?Sized> {
    handlers: Handlers<H>,
    policies: Policies,
    errors: Vec<String>,
}

impl<H: ?Sized> RegistryBuilder<H> {
    pub(super) fn new(handlers: Handlers<H>, policies: Policies) -> Self {
        Self { handlers, policies, errors: Vec::new() }
    }

    /// The registry, whatever mistakes were made.
    pub fn build(self) -> Registry<H> {
        Registry::new(self.handlers, self.policies)
    }

    /// The registry, or all mistakes joined by `"; "`.
    pub fn build_result(self) -> Result<Registry<H>, String> {
        if self.errors.is_empty() { Ok(self.build()) } else { Err(self.errors.join("; ")) }
    }

    /// Adds the handlers of another registry, without its policies. A name and version that is
    /// there already is the mistake `{error_prefix}: {name}@{version}`.
    pub fn merge_registry(mut self, other: Registry<H>, error_prefix: &str) -> Self {
        for (name, versions) in other.handlers() {
            for (version, handler) in versions {
                let added = Registration { name: name.clone(), version: version.clone() };
                self.add(added, Arc::clone(handler), error_prefix);
            }
        }
        self
    }

    /// Registers every pair by `register`.
    pub fn register_all_handlers<F: Clone>(
        self,
        handlers: Vec<(&str, F)>,
        register: impl Fn(Self, &str, F) -> Self,
    ) -> Self {
        handlers.into_iter().fold(self, |builder, (name, handler)| register(builder, name, handler))
    }

    /// Adds a handler unless its name and version are taken, which is a mistake.
    pub(super) fn add(&mut self, added: Registration, handler: Arc<H>, error_prefix: &str) {
        let Registration { name, version } = added;
        match self.handlers.entry(name.clone()).or_default().entry(version) {
            Entry::Vacant(free) => {
                free.insert(handler);
            }
            Entry::Occupied(taken) => {
                self.errors.push(format!("{error_prefix}: {name}@{}", taken.key()));
            }
        }
    }

    /// Adds a handler in place of one that may be there.
    pub(super) fn put(&mut self, added: Registration, handler: Arc<H>) {
        self.handlers.entry(added.name).or_default().insert(added.version, handler);
    }

    pub(super) fn latest(&self, name: &str) -> Option<&Version> {
        self.handlers.get(name)?.last_key_value().map(|(version, _handler)| version)
    }

    pub(super) fn put_policy(&mut self, name: String, policy: VersionPolicy) {
        self.policies.insert(name, policy);
    }

    pub(super) fn mistake(&mut self, text: String) {
        self.errors.push(text);
    }
}

/// What a handler is registered as.
pub(super) struct Registration {
    pub(super) name: String,
    pub(super) version: Version,
}
