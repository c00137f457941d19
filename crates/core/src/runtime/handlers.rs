//! The code that a node can run. Built-in code comes before the user's.

use std::sync::Arc;

use semver::Version;

use super::{ActivityHandler, ActivityRegistry, OrchestrationRegistry, builtin};
use crate::clock::Clock;
use crate::context::OrchestrationHandler;
use crate::engine::IgnoredInputs;
use crate::model::syscall;
use crate::providers::handlers::VERSION_NONE;
use crate::providers::{RegisteredActivities, RegisteredOrchestrations};

/// All handlers of a node.
pub(crate) struct Handlers {
    /// The clock of the built-in activities.
    clock: Arc<dyn Clock>,
    builtin_orchestrations: OrchestrationRegistry,
    builtin_activities: ActivityRegistry,
    orchestrations: OrchestrationRegistry,
    activities: ActivityRegistry,
    ignored_inputs: Arc<IgnoredInputs>,
}

impl Handlers {
    /// The built-in handlers and those of a user.
    pub(crate) fn new(
        clock: Arc<dyn Clock>,
        orchestrations: OrchestrationRegistry,
        activities: ActivityRegistry,
    ) -> Self {
        let builtin_orchestrations = builtin::orchestrations();
        let ignored_inputs = Arc::new(IgnoredInputs {
            activities: activities.list_inputs_ignored_on_replay().clone(),
            orchestrations: orchestrations.list_inputs_ignored_on_replay().clone(),
        });
        let builtin_activities = ActivityRegistry::default();
        Self {
            clock,
            builtin_orchestrations,
            builtin_activities,
            orchestrations,
            activities,
            ignored_inputs,
        }
    }

    /// Adds code of the runtime that only some nodes run.
    pub(crate) fn with_builtin(
        mut self,
        (activities, orchestrations): (ActivityRegistry, OrchestrationRegistry),
    ) -> Self {
        self.builtin_activities = activities;
        self.builtin_orchestrations = orchestrations;
        self
    }

    /// Whose inputs are not compared on replay.
    pub(crate) fn ignored_inputs(&self) -> Arc<IgnoredInputs> {
        Arc::clone(&self.ignored_inputs)
    }

    /// The code of an activity.
    pub(crate) fn activity(&self, name: &str) -> Option<Arc<dyn ActivityHandler>> {
        builtin::activity(name, &self.clock)
            .or_else(|| self.activities.resolve_handler(name).map(|(_version, handler)| handler))
            .or_else(|| Some(self.builtin_activities.resolve_handler(name)?.1))
    }

    /// The names of the user's activities, and of those that only some nodes run.
    pub(crate) fn activity_names(&self) -> Vec<String> {
        let mut names = self.activities.list_names();
        names.extend(self.builtin_activities.list_names());
        names
    }

    /// All activities, those of the runtime included.
    pub(crate) fn registered_activities(&self) -> RegisteredActivities {
        let builtin = syscall::ALL.into_iter().map(str::to_owned);
        RegisteredActivities::new(self.activity_names().into_iter().chain(builtin))
    }

    /// All orchestrations in all their versions.
    pub(crate) fn registered_orchestrations(&self) -> RegisteredOrchestrations {
        let registries = [&self.builtin_orchestrations, &self.orchestrations];
        let names = registries.iter().flat_map(|registry| registry.list_names());
        RegisteredOrchestrations::new(names.flat_map(|name| {
            let versions = self.registry_of(&name).list_versions(&name);
            versions.into_iter().map(move |version| (name.clone(), version))
        }))
    }

    /// The code of an orchestration in the version that the registry chooses.
    pub(crate) fn orchestration(
        &self,
        name: &str,
    ) -> Option<(Version, Arc<dyn OrchestrationHandler>)> {
        self.registry_of(name).resolve_handler(name)
    }

    /// The code of an orchestration in exactly this version.
    pub(crate) fn orchestration_version(
        &self,
        name: &str,
        version: &Version,
    ) -> Option<Arc<dyn OrchestrationHandler>> {
        self.registry_of(name).resolve_handler_exact(name, version)
    }

    /// The code that a start event names: exactly that version.
    pub(crate) fn recorded_orchestration(
        &self,
        name: &str,
        version: &str,
    ) -> Option<Arc<dyn OrchestrationHandler>> {
        if version == VERSION_NONE {
            return self.orchestration(name).map(|(_version, handler)| handler);
        }
        self.orchestration_version(name, &Version::parse(version).ok()?)
    }

    /// The registered versions of an orchestration, ascending.
    pub(crate) fn versions_of(&self, name: &str) -> Vec<String> {
        let versions = self.registry_of(name).list_versions(name);
        versions.iter().map(ToString::to_string).collect()
    }

    /// A built-in name never resolves to the user's code, whatever the version.
    fn registry_of(&self, name: &str) -> &OrchestrationRegistry {
        if self.builtin_orchestrations.has(name) {
            &self.builtin_orchestrations
        } else {
            &self.orchestrations
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::OrchestrationContext;
    use crate::providers::Provider;
    use crate::providers::fake::FakeProvider;

    fn registry(names: &[&str], version: &str) -> OrchestrationRegistry {
        let code = |_ctx: OrchestrationContext, input: String| async move { Ok(input) };
        let registered = names.iter().fold(OrchestrationRegistry::builder(), |builder, name| {
            builder.register_versioned(*name, version, code)
        });
        registered.build()
    }

    #[test]
    fn a_builtin_orchestration_comes_before_one_of_the_user() {
        let handlers = Handlers {
            clock: FakeProvider::watching().clock(),
            builtin_orchestrations: registry(&["shared"], "1.0.0"),
            builtin_activities: ActivityRegistry::default(),
            orchestrations: registry(&["shared", "own"], "2.0.0"),
            activities: ActivityRegistry::default(),
            ignored_inputs: Arc::default(),
        };
        let version = |name| handlers.orchestration(name).map(|(version, _)| version.to_string());
        assert_eq!(version("shared").as_deref(), Some("1.0.0"));
        assert_eq!(version("own").as_deref(), Some("2.0.0"));
        assert_eq!(version("unknown"), None);
        let second = Version::new(2, 0, 0);
        assert!(handlers.orchestration_version("shared", &second).is_none());
        assert!(handlers.orchestration_version("own", &second).is_some());
    }
}
