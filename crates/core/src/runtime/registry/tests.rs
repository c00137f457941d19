//! The rules of registration and lookup.

use std::sync::Arc;

use semver::Version;

use super::*;
use crate::context::OrchestrationContext;
use crate::runtime::ActivityContext;
use crate::runtime::activity_context::tests::context;
use crate::runtime::observability::capture::captured;

async fn orchestration(_ctx: OrchestrationContext, input: String) -> Result<String, String> {
    Ok(input)
}

async fn typed_orchestration(_ctx: OrchestrationContext, input: u32) -> Result<u32, String> {
    Ok(input)
}

async fn activity(_ctx: ActivityContext, input: String) -> Result<String, String> {
    Ok(input)
}

fn version(text: &str) -> Version {
    Version::parse(text).unwrap()
}

fn versions(registry: &OrchestrationRegistry, name: &str) -> Vec<String> {
    registry.list_versions(name).iter().map(Version::to_string).collect()
}

#[test]
fn an_empty_registry_resolves_nothing() {
    let registry = OrchestrationRegistry::default();
    assert_eq!((registry.count(), registry.has("A")), (0, false));
    assert!(registry.resolve_handler("A").is_none());
    assert!(registry.list_names().is_empty());
    assert!(registry.list_versions("A").is_empty());
}

#[test]
fn unversioned_registrations_are_version_one() {
    let registry = OrchestrationRegistry::builder().register("A", orchestration).build();
    assert_eq!(registry.resolve_version("A"), Some(version("1.0.0")));
    let registry = ActivityRegistry::builder().register("A", activity).build();
    assert_eq!(registry.resolve_version("A"), Some(version("1.0.0")));
}

#[test]
fn a_start_without_a_version_gets_the_latest_and_names_are_counted_once() {
    let registry = OrchestrationRegistry::builder()
        .register("A", orchestration)
        .register_versioned("A", "2.0.0", orchestration)
        .register_versioned_typed("A", "10.0.0", typed_orchestration)
        .register("B", orchestration)
        .build_result()
        .unwrap();
    assert_eq!(registry.resolve_version("A"), Some(version("10.0.0")));
    assert_eq!(versions(&registry, "A"), ["1.0.0", "2.0.0", "10.0.0"]);
    assert_eq!(registry.list_names(), ["A", "B"]);
    assert_eq!(registry.count(), 2);
}

#[test]
fn an_exact_lookup_finds_only_that_version() {
    let registry = OrchestrationRegistry::builder().register("A", orchestration).build();
    assert!(registry.resolve_handler_exact("A", &version("1.0.0")).is_some());
    assert!(registry.resolve_handler_exact("A", &version("1.0.1")).is_none());
    assert!(registry.resolve_handler_exact("B", &version("1.0.0")).is_none());
}

#[test]
fn a_policy_applies_to_every_clone() {
    let registry = OrchestrationRegistry::builder()
        .register("A", orchestration)
        .register_versioned("A", "2.0.0", orchestration)
        .set_policy("A", VersionPolicy::Exact(version("1.0.0")))
        .build();
    let in_use = registry.clone();
    assert_eq!(in_use.resolve_version("A"), Some(version("1.0.0")));

    registry.set_version_policy("A", VersionPolicy::Latest);
    assert_eq!(in_use.resolve_version("A"), Some(version("2.0.0")));

    registry.set_version_policy("A", VersionPolicy::Exact(version("3.0.0")));
    assert_eq!(in_use.resolve_version("A"), None);
}

#[test]
fn a_duplicate_fails_the_build_result_and_the_first_stays() {
    let first = OrchestrationRegistry::builder().register("A", orchestration).build();
    let kept = first.resolve_handler("A").unwrap().1;
    let again = || {
        OrchestrationRegistry::builder_from(&first)
            .register("A", orchestration)
            .register("A", orchestration)
    };
    let text = "duplicate orchestration registration: A@1.0.0";
    assert_eq!(again().build_result().err(), Some(format!("{text}; {text}")));
    assert!(Arc::ptr_eq(&again().build().resolve_handler("A").unwrap().1, &kept));

    let twice = ActivityRegistry::builder().register("A", activity).register("A", activity);
    let text = "duplicate activity registration: A@1.0.0";
    assert_eq!(twice.build_result().err().as_deref(), Some(text));
}

#[test]
fn a_typed_orchestration_replaces_version_one_without_error() {
    let first = OrchestrationRegistry::builder().register("A", orchestration).build();
    let second = OrchestrationRegistry::builder_from(&first)
        .register_typed("A", typed_orchestration)
        .build_result()
        .unwrap();
    let handlers = [first, second].map(|registry| registry.resolve_handler("A").unwrap().1);
    assert!(!Arc::ptr_eq(&handlers[0], &handlers[1]));
}

#[test]
#[should_panic(
    expected = "non-monotonic orchestration version for A: 1.5.0 is not later than existing \
                latest 2.0.0"
)]
fn an_earlier_version_panics() {
    let _builder = OrchestrationRegistry::builder()
        .register_versioned("A", "2.0.0", orchestration)
        .register_versioned("A", "1.5.0", orchestration);
}

#[test]
fn a_version_that_is_registered_twice_is_a_mistake() {
    let twice = OrchestrationRegistry::builder()
        .register("A", orchestration)
        .register_versioned_typed("A", "1.0.0", typed_orchestration);
    let text = "duplicate orchestration registration: A@1.0.0";
    assert_eq!(twice.build_result().err().as_deref(), Some(text));
}

#[test]
#[should_panic(expected = "invalid orchestration version '1.x' for A")]
fn a_version_that_is_not_semver_panics() {
    let _builder = OrchestrationRegistry::builder().register_versioned("A", "1.x", orchestration);
}

#[test]
fn a_merge_adds_handlers_keeps_the_first_and_ignores_policies() {
    let other = OrchestrationRegistry::builder()
        .register("A", orchestration)
        .register("B", orchestration)
        .register_versioned("B", "2.0.0", orchestration)
        .set_policy("B", VersionPolicy::Exact(version("1.0.0")))
        .build();
    let merged =
        || OrchestrationRegistry::builder().register("A", orchestration).merge(other.clone());
    assert_eq!(
        merged().build_result().err().as_deref(),
        Some("duplicate orchestration in merge: A@1.0.0")
    );
    assert_eq!(merged().build().resolve_version("B"), Some(version("2.0.0")));

    let activities = ActivityRegistry::builder().register("A", activity).build();
    let merged = ActivityRegistry::builder().register("A", activity).merge(activities);
    let text = "duplicate activity in merge: A@1.0.0";
    assert_eq!(merged.build_result().err().as_deref(), Some(text));
}

#[test]
fn a_builder_made_from_a_registry_has_its_handlers_and_policies() {
    let registry = OrchestrationRegistry::builder()
        .register("A", orchestration)
        .register_versioned("A", "2.0.0", orchestration)
        .set_policy("A", VersionPolicy::Exact(version("1.0.0")))
        .build();
    let copy = OrchestrationRegistry::builder_from(&registry).build();
    assert_eq!(copy.resolve_version("A"), Some(version("1.0.0")));
    assert_eq!(versions(&copy, "A"), ["1.0.0", "2.0.0"]);

    copy.set_version_policy("A", VersionPolicy::Latest);
    assert_eq!(registry.resolve_version("A"), Some(version("1.0.0")), "a copy, not a clone");

    let activities = ActivityRegistry::builder().register("A", activity).build();
    assert!(ActivityRegistryBuilder::from_registry(&activities).build().has("A"));
}

#[test]
fn many_handlers_are_registered_at_once() {
    let registry = OrchestrationRegistry::builder()
        .register_all(vec![("A", orchestration), ("B", orchestration)])
        .build();
    assert_eq!(registry.list_names(), ["A", "B"]);
    let registry =
        ActivityRegistry::builder().register_all(vec![("A", activity), ("B", activity)]).build();
    assert_eq!(registry.list_names(), ["A", "B"]);
}

#[test]
fn names_of_system_activities_are_rejected() {
    let registered = || ActivityRegistry::builder().register("__duroxide_syscall:mine", activity);
    assert_eq!(
        registered().build_result().err().as_deref(),
        Some("activity name '__duroxide_syscall:mine' uses reserved prefix '__duroxide_syscall:'")
    );
    assert_eq!(registered().build().count(), 0);
}

#[tokio::test]
async fn typed_handlers_decode_their_input_and_encode_their_output() {
    let registry = ActivityRegistry::builder()
        .register_typed("Double", |_ctx: ActivityContext, input: u32| async move {
            if input > 10 { Err("too much".to_owned()) } else { Ok(vec![input, input]) }
        })
        .register_typed::<String, String, _, _>("Greet", |_ctx, name| async move {
            Ok(format!("hello {name}"))
        })
        .build_result()
        .unwrap();
    let invoke = async |name: &str, input: &str| {
        registry.resolve_handler(name).unwrap().1.invoke(context(), input.to_owned()).await
    };
    assert_eq!(invoke("Double", "3").await.as_deref(), Ok("[3,3]"));
    assert_eq!(invoke("Double", "11").await, Err("too much".to_owned()));
    assert!(invoke("Double", "three").await.is_err());
    assert_eq!(invoke("Greet", "you").await.as_deref(), Ok("hello you"));
}

#[test]
fn a_build_with_mistakes_logs_each_and_remembers_them() {
    let lines = captured(|| {
        let registry = ActivityRegistry::builder()
            .register("A", activity)
            .register("A", activity)
            .register("__duroxide_syscall:mine", activity)
            .register("", activity)
            .build();
        assert_eq!(
            registry.mistakes(),
            [
                RegistrationMistake::Duplicate {
                    context: "duplicate activity registration".to_owned(),
                    name: "A".to_owned(),
                    version: version("1.0.0"),
                },
                RegistrationMistake::ReservedPrefix {
                    name: "__duroxide_syscall:mine".to_owned(),
                    prefix: "__duroxide_syscall:",
                },
                RegistrationMistake::EmptyName,
            ]
        );
        assert_eq!(registry.clone().validate().unwrap_err().mistakes(), registry.mistakes());
        assert_eq!(registry.list_names(), ["", "A"]);
    });
    assert_eq!(lines.len(), 3);
    for (line, text) in lines.iter().zip(["A@1.0.0", "reserved prefix", "empty name"]) {
        assert!(line.contains("\"level\":\"ERROR\"") && line.contains(text), "{line}");
    }
}

#[test]
fn mistakes_are_inherited_with_the_handlers() {
    captured(|| {
        let wrong = ActivityRegistry::builder()
            .register("A", activity)
            .register("A", activity)
            .register("", activity)
            .build();
        let copied = ActivityRegistry::builder_from(&wrong).register("B", activity).try_build();
        let merged = ActivityRegistry::builder().register("B", activity).merge(wrong.clone());
        assert_eq!(copied.err().expect("mistakes").mistakes(), wrong.mistakes());
        let mut found = merged.try_build().err().expect("mistakes").mistakes().to_vec();
        found.reverse();
        assert_eq!(found, wrong.mistakes(), "each once");
    });
}

#[test]
fn a_build_without_mistakes_logs_nothing_and_is_valid() {
    let lines = captured(|| {
        let registry = ActivityRegistry::builder().register("A", activity).build();
        assert_eq!(registry.validate(), Ok(()));
    });
    assert_eq!(lines, Vec::<String>::new());
}

#[test]
fn a_typed_error_and_a_text_list_the_same_mistakes() {
    let wrong = || {
        OrchestrationRegistry::builder()
            .register_at_version("A", "1.x", orchestration)
            .register_at_version("A", "2.0.0", orchestration)
            .register_at_version_typed("A", "2.0.0", typed_orchestration)
            .register("", orchestration)
    };
    let error = wrong().try_build().err().unwrap();
    assert_eq!(error.mistakes().len(), 3);
    let text = error.to_string();
    assert_eq!(wrong().build_result().err(), Some(text.clone()));
    let (invalid, rest) = text.split_once("; ").unwrap();
    assert!(invalid.starts_with("invalid orchestration version '1.x' for A: "), "{invalid}");
    assert_eq!(
        rest,
        "duplicate orchestration registration: A@2.0.0; \
         a handler is registered under an empty name"
    );
}

#[test]
fn versions_may_be_registered_in_any_order() {
    let registry = OrchestrationRegistry::builder()
        .register_at_version("A", "2.0.0", orchestration)
        .register_at_version_typed("A", "1.5.0", typed_orchestration)
        .register("A", orchestration)
        .try_build()
        .unwrap();
    assert_eq!(versions(&registry, "A"), ["1.0.0", "1.5.0", "2.0.0"]);
    assert_eq!(registry.resolve_version("A"), Some(version("2.0.0")));
}
