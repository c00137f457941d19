//! Registries and their builders.

use std::sync::Arc;

use duroxide::runtime::registry::{
    ActivityRegistry, ActivityRegistryBuilder, OrchestrationRegistry, OrchestrationRegistryBuilder,
    Registry, RegistryBuilder, VersionPolicy,
};
use duroxide::runtime::{ActivityHandler, OrchestrationHandler};
use duroxide::{ActivityContext, OrchestrationContext};
use semver::Version;

use crate::is;

async fn orchestration(_ctx: OrchestrationContext, input: String) -> Result<String, String> {
    Ok(input)
}

async fn typed_orchestration(_ctx: OrchestrationContext, input: u64) -> Result<u64, String> {
    Ok(input)
}

async fn activity(_ctx: ActivityContext, input: String) -> Result<String, String> {
    Ok(input)
}

async fn typed_activity(_ctx: ActivityContext, input: u64) -> Result<u64, String> {
    Ok(input)
}

fn orchestrations() -> OrchestrationRegistryBuilder {
    let other = OrchestrationRegistry::builder().register("M", orchestration).build();
    let third = OrchestrationRegistry::builder().register("N", orchestration).build();
    OrchestrationRegistry::builder()
        .register("A", |ctx: OrchestrationContext, input: String| async move {
            ctx.trace_info("started");
            Ok(input)
        })
        .register(String::from("B"), orchestration)
        .register_typed("C", typed_orchestration)
        .register_typed::<u64, u64, _, _>("D", typed_orchestration)
        .register_versioned("A", "1.1.0", orchestration)
        .register_versioned("A", String::from("1.2.0"), orchestration)
        .register_versioned_typed("C", "2.0.0", typed_orchestration)
        .merge(other)
        .merge_registry(third, "merge")
        .register_all(vec![("E", orchestration), ("F", orchestration)])
        .register_all_handlers(vec![("G", orchestration)], |builder, name, handler| {
            builder.register(name, handler)
        })
        .set_policy("A", VersionPolicy::Exact(Version::new(1, 1, 0)))
}

fn activities() -> ActivityRegistryBuilder {
    let other = ActivityRegistry::builder().register("M", activity).build();
    let third = ActivityRegistry::builder().register("N", activity).build();
    ActivityRegistryBuilder::from_registry(&ActivityRegistry::default())
        .register("A", |ctx: ActivityContext, input: String| async move {
            ctx.trace_info("started");
            Ok(input)
        })
        .register(String::from("B"), activity)
        .register_typed("C", typed_activity)
        .register_typed::<u64, u64, _, _>("D", typed_activity)
        .merge(other)
        .merge_registry(third, "merge")
        .register_all(vec![("E", activity), ("F", activity)])
        .register_all_handlers(vec![("G", activity)], |builder, name, handler| {
            builder.register(name, handler)
        })
}

fn lookups<H: ?Sized>(registry: &Registry<H>) {
    let version = Version::new(1, 0, 0);
    is::<Option<(Version, Arc<H>)>>(registry.resolve_handler("A"));
    is::<Option<Version>>(registry.resolve_version("A"));
    is::<Option<Arc<H>>>(registry.resolve_handler_exact("A", &version));
    let () = registry.set_version_policy("A", VersionPolicy::Latest);
    is::<Vec<String>>(registry.list_names());
    is::<Vec<Version>>(registry.list_versions("A"));
    is::<bool>(registry.has("A"));
    is::<usize>(registry.count());
}

fn aliases() {
    is::<OrchestrationRegistry>(Registry::<dyn OrchestrationHandler>::default());
    is::<ActivityRegistry>(Registry::<dyn ActivityHandler>::default());
    is::<RegistryBuilder<dyn OrchestrationHandler>>(OrchestrationRegistry::builder());
    is::<RegistryBuilder<dyn ActivityHandler>>(ActivityRegistry::builder());
}

#[test]
fn builders_and_lookups_compile() {
    aliases();
    let registry = orchestrations().build();
    lookups(&registry);
    let copied = OrchestrationRegistry::builder_from(&registry).build_result();
    is::<Result<OrchestrationRegistry, String>>(copied);
    let registry = activities().build();
    lookups(&registry);
    let copied = ActivityRegistry::builder_from(&registry).build_result();
    is::<Result<ActivityRegistry, String>>(copied);
}
