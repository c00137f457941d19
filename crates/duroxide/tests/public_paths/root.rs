//! The root of the crate: re-exports, aliases, constants, functions.

use std::marker::PhantomData;
use std::sync::Arc;

use duroxide::{INITIAL_EVENT_ID, INITIAL_EXECUTION_ID, SUB_ORCH_AUTO_PREFIX};
use duroxide::{OrchestrationHandlerRef, ProviderRef};
use duroxide::{build_child_instance_id, current_build_version, is_auto_generated_sub_orch_id};

use crate::is;

// An alias and its target, or a re-export and its origin, are the same type.
fn same<T: ?Sized>(_other: PhantomData<T>) {}

fn root_names_match_the_modules() {
    same::<duroxide::Client>(PhantomData::<duroxide::client::Client>);
    same::<duroxide::ClientError>(PhantomData::<duroxide::client::ClientError>);
    same::<duroxide::OrchestrationDescriptor>(
        PhantomData::<duroxide::runtime::OrchestrationDescriptor>,
    );
    same::<dyn duroxide::OrchestrationHandler>(
        PhantomData::<dyn duroxide::runtime::OrchestrationHandler>,
    );
    same::<duroxide::OrchestrationRegistry>(
        PhantomData::<duroxide::runtime::registry::OrchestrationRegistry>,
    );
    same::<duroxide::OrchestrationRegistryBuilder>(
        PhantomData::<duroxide::runtime::registry::OrchestrationRegistryBuilder>,
    );
    same::<duroxide::OrchestrationRegistry>(
        PhantomData::<duroxide::runtime::OrchestrationRegistry>,
    );
    same::<duroxide::OrchestrationRegistryBuilder>(
        PhantomData::<duroxide::runtime::OrchestrationRegistryBuilder>,
    );
    same::<duroxide::OrchestrationStatus>(PhantomData::<duroxide::runtime::OrchestrationStatus>);
    same::<duroxide::RuntimeOptions>(PhantomData::<duroxide::runtime::RuntimeOptions>);
}

fn root_names_of_providers_match_the_module() {
    use duroxide::providers;
    same::<duroxide::ExecutionInfo>(PhantomData::<providers::ExecutionInfo>);
    same::<duroxide::InstanceInfo>(PhantomData::<providers::InstanceInfo>);
    same::<dyn duroxide::ProviderAdmin>(PhantomData::<dyn providers::ProviderAdmin>);
    same::<duroxide::QueueDepths>(PhantomData::<providers::QueueDepths>);
    same::<duroxide::ScheduledActivityIdentifier>(
        PhantomData::<providers::ScheduledActivityIdentifier>,
    );
    same::<duroxide::SessionFetchConfig>(PhantomData::<providers::SessionFetchConfig>);
    same::<duroxide::SystemMetrics>(PhantomData::<providers::SystemMetrics>);
    same::<duroxide::TagFilter>(PhantomData::<providers::TagFilter>);
    same::<duroxide::DispatcherCapabilityFilter>(
        PhantomData::<providers::DispatcherCapabilityFilter>,
    );
    same::<duroxide::SemverRange>(PhantomData::<providers::SemverRange>);
    same::<duroxide::DeleteInstanceResult>(PhantomData::<providers::DeleteInstanceResult>);
    same::<duroxide::InstanceFilter>(PhantomData::<providers::InstanceFilter>);
    same::<duroxide::InstanceTree>(PhantomData::<providers::InstanceTree>);
    same::<duroxide::PruneOptions>(PhantomData::<providers::PruneOptions>);
    same::<duroxide::PruneResult>(PhantomData::<providers::PruneResult>);
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
fn root_names_compile() {
    root_names_match_the_modules();
    root_names_of_providers_match_the_module();
    functions();
    is::<fn(ProviderRef, OrchestrationHandlerRef)>(aliases);
}

#[test]
fn constants_keep_their_values() {
    is::<(u64, u64, &str)>((INITIAL_EXECUTION_ID, INITIAL_EVENT_ID, SUB_ORCH_AUTO_PREFIX));
    assert_eq!((INITIAL_EXECUTION_ID, INITIAL_EVENT_ID, SUB_ORCH_AUTO_PREFIX), (1, 1, "sub::"));
}
