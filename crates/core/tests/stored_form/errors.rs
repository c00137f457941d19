//! Stored form of failures.

use duroxide_core::model::{AppErrorKind, ConfigErrorKind, ErrorDetails, PoisonMessageType};

use crate::golden::{ERRORS, assert_golden};

fn configuration(resource: &str, message: Option<&str>) -> ErrorDetails {
    ErrorDetails::Configuration {
        kind: ConfigErrorKind::Nondeterminism,
        resource: resource.into(),
        message: message.map(Into::into),
    }
}

fn application(kind: AppErrorKind, message: &str) -> ErrorDetails {
    ErrorDetails::Application { kind, message: message.into(), retryable: false }
}

fn poison(message_type: PoisonMessageType, message: &str) -> ErrorDetails {
    ErrorDetails::Poison {
        attempt_count: 11,
        max_attempts: 10,
        message_type,
        message: message.into(),
    }
}

/// A failure for tests that do not depend on its details.
pub(crate) fn any_failure() -> ErrorDetails {
    application(AppErrorKind::ActivityFailed, "m")
}

pub(crate) fn cases() -> Vec<(&'static str, ErrorDetails)> {
    let (instance, execution_id) = (String::from("i"), 1);
    vec![
        (
            "Infrastructure",
            ErrorDetails::Infrastructure {
                operation: "op".into(),
                message: "m".into(),
                retryable: true,
            },
        ),
        ("Configuration", configuration("", Some("m"))),
        ("Configuration without message", configuration("res", None)),
        ("Application activity", any_failure()),
        ("Application orchestration", application(AppErrorKind::OrchestrationFailed, "m")),
        ("Application panicked", application(AppErrorKind::Panicked, "m")),
        ("Application cancelled", application(AppErrorKind::Cancelled { reason: "r".into() }, "")),
        (
            "Poison orchestration",
            poison(
                PoisonMessageType::Orchestration { instance: instance.clone(), execution_id },
                "[]",
            ),
        ),
        (
            "Poison activity",
            poison(
                PoisonMessageType::Activity {
                    instance: instance.clone(),
                    execution_id,
                    activity_name: "A".into(),
                    activity_id: 2,
                },
                "{}",
            ),
        ),
        (
            "Poison history",
            poison(
                PoisonMessageType::FailedDeserialization {
                    instance,
                    execution_id,
                    error: "e".into(),
                },
                "e",
            ),
        ),
    ]
}

#[test]
fn failures_match_their_stored_form() {
    assert_golden(ERRORS, &cases());
}

#[test]
fn failures_have_stable_display_texts() {
    let texts: Vec<String> = cases().iter().map(|(_, value)| value.display_message()).collect();
    let expected = [
        "infrastructure:op: m",
        "nondeterministic: m",
        "nondeterministic in res",
        "m",
        "m",
        "orchestration panicked: m",
        "canceled: r",
        "poison: orchestration i exceeded 11 attempts (max 10)",
        "poison: activity A#2 exceeded 11 attempts (max 10)",
        "poison: orchestration i history deserialization failed after 11 attempts (max 10): e",
    ];
    assert_eq!(texts, expected);
}
