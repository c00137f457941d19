//! The root of the crate: re-exports, aliases, constants, functions.

use std::sync::Arc;

use duroxide::{INITIAL_EVENT_ID, INITIAL_EXECUTION_ID, SUB_ORCH_AUTO_PREFIX};
use duroxide::{OrchestrationHandlerRef, ProviderRef};
use duroxide::{build_child_instance_id, current_build_version, is_auto_generated_sub_orch_id};

use crate::is;

// An alias and its target, or a re-export and its origin, are the same type.
fn same<T: ?Sized>(_one: fn(&T), _other: fn(&T)) {}

fn root_names_are_those_of_the_modules() {
    same::<duroxide::Client>(|_| {}, |_: &duroxide::client::Client| {});
    same::<duroxide::ClientError>(|_| {}, |_: &duroxide::client::ClientError| {});
    same::<duroxide::OrchestrationDescriptor>(
        |_| {},
        |_: &duroxide::runtime::OrchestrationDescriptor| {},
    );
    same::<dyn duroxide::OrchestrationHandler>(
        |_| {},
        |_: &dyn duroxide::runtime::OrchestrationHandler| {},
    );
    same::<duroxide::OrchestrationRegistry>(
        |_| {},
        |_: &duroxide::runtime::registry::OrchestrationRegistry| {},
    );
    same::<duroxide::OrchestrationRegistryBuilder>(
        |_| {},
        |_: &duroxide::runtime::registry::OrchestrationRegistryBuilder| {},
    );
    same::<duroxide::OrchestrationRegistry>(
        |_| {},
        |_: &duroxide::runtime::OrchestrationRegistry| {},
    );
    same::<duroxide::OrchestrationRegistryBuilder>(
        |_| {},
        |_: &duroxide::runtime::OrchestrationRegistryBuilder| {},
    );
    same::<duroxide::OrchestrationStatus>(|_| {}, |_: &duroxide::runtime::OrchestrationStatus| {});
    same::<duroxide::RuntimeOptions>(|_| {}, |_: &duroxide::runtime::RuntimeOptions| {});
}

fn root_names_of_providers_are_those_of_the_module() {
    use duroxide::providers;
    same::<duroxide::ExecutionInfo>(|_| {}, |_: &providers::ExecutionInfo| {});
    same::<duroxide::InstanceInfo>(|_| {}, |_: &providers::InstanceInfo| {});
    same::<dyn duroxide::ProviderAdmin>(|_| {}, |_: &dyn providers::ProviderAdmin| {});
    same::<duroxide::QueueDepths>(|_| {}, |_: &providers::QueueDepths| {});
    same::<duroxide::ScheduledActivityIdentifier>(
        |_| {},
        |_: &providers::ScheduledActivityIdentifier| {},
    );
    same::<duroxide::SessionFetchConfig>(|_| {}, |_: &providers::SessionFetchConfig| {});
    same::<duroxide::SystemMetrics>(|_| {}, |_: &providers::SystemMetrics| {});
    same::<duroxide::TagFilter>(|_| {}, |_: &providers::TagFilter| {});
    same::<duroxide::DispatcherCapabilityFilter>(
        |_| {},
        |_: &providers::DispatcherCapabilityFilter| {},
    );
    same::<duroxide::SemverRange>(|_| {}, |_: &providers::SemverRange| {});
    same::<duroxide::DeleteInstanceResult>(|_| {}, |_: &providers::DeleteInstanceResult| {});
    same::<duroxide::InstanceFilter>(|_| {}, |_: &providers::InstanceFilter| {});
    same::<duroxide::InstanceTree>(|_| {}, |_: &providers::InstanceTree| {});
    same::<duroxide::PruneOptions>(|_| {}, |_: &providers::PruneOptions| {});
    same::<duroxide::PruneResult>(|_| {}, |_: &providers::PruneResult| {});
    is::<fn() -> semver::Version>(current_build_version);
    is::<fn() -> semver::Version>(providers::current_build_version);
}

fn aliases(provider: ProviderRef, handler: OrchestrationHandlerRef) {
    is::<Arc<dyn duroxide::providers::Provider>>(provider);
    is::<Arc<dyn duroxide::runtime::OrchestrationHandler>>(handler);
}

fn functions() {
    is::<fn(&str) -> bool>(is_auto_generated_sub_orch_id);
    is::<fn(&str, &str) -> String>(build_child_instance_id);
}

#[test]
fn names_that_are_only_mentioned_are_used() {
    root_names_are_those_of_the_modules();
    root_names_of_providers_are_those_of_the_module();
    functions();
    is::<fn(ProviderRef, OrchestrationHandlerRef)>(aliases);
}

#[test]
fn constants_keep_their_values() {
    is::<(u64, u64, &str)>((INITIAL_EXECUTION_ID, INITIAL_EVENT_ID, SUB_ORCH_AUTO_PREFIX));
    assert_eq!((INITIAL_EXECUTION_ID, INITIAL_EVENT_ID, SUB_ORCH_AUTO_PREFIX), (1, 1, "sub::"));
}
