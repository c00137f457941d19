//! Runs every case of every file, and checks that every rule has one.

use std::collections::BTreeSet;

use super::{case, replaying, runner, traces};

macro_rules! files {
    ($($name:ident),+ $(,)?) => {
        const FILES: &[(&str, &str)] =
            &[$((stringify!($name), include_str!(concat!("cases/", stringify!($name), ".txt")))),+];

        $(
            #[test]
            fn $name() {
                run_file(stringify!($name));
            }
        )+
    };
}

files!(
    turn,
    determinism,
    activities,
    retry,
    timers,
    signals,
    drops,
    queues,
    combinators,
    children,
    continue_as_new,
    system_calls,
    status,
    kv,
    limits,
    waking,
    patches,
    mending,
    cancellation,
);

fn run_file(wanted: &str) {
    let (file, text) = FILES.iter().find(|(file, _)| *file == wanted).expect("listed above");
    let cases = case::parse(file, text);
    let failures: Vec<String> = cases.iter().filter_map(|case| runner::run(case).err()).collect();
    assert!(
        failures.is_empty(),
        "{} of {} cases failed\n\n{}",
        failures.len(),
        cases.len(),
        failures.join("\n")
    );
}

/// Rules that the engine alone implements; `docs/internals/rules.md` states them.
const RULES: &[&str] = &[
    "turn-batch",
    "turn-messages",
    "turn-replay",
    "pinned-rules",
    "turn-result",
    "turn-commit",
    "turn-replaying",
    "turn-limits",
    "match-schedules",
    "match-inputs",
    "match-errors",
    "match-unnoticed",
    "match-terminal",
    "activity-result",
    "activity-typed",
    "activity-independent",
    "activity-held",
    "retry-loop",
    "retry-delay",
    "retry-timeout",
    "retry-events",
    "retry-session",
    "timer-due",
    "timer-dropped",
    "timer-late",
    "signal-slot",
    "signal-delivery",
    "signal-early",
    "signal-order",
    "signal-execution",
    "signal-dropped-wait",
    "signal-typed",
    "drop-kinds",
    "drop-order",
    "drop-once",
    "drop-suspend",
    "drop-replay",
    "drop-same-turn",
    "drop-late-result",
    "drop-at-end",
    "queue-buffer",
    "queue-position",
    "queue-same-turn",
    "queue-unread",
    "queue-carry",
    "queue-carry-order",
    "queue-shift",
    "select-order",
    "join-order",
    "blocks-compose",
    "foreign-wakes",
    "child-parent-link",
    "child-result-address",
    "child-failure",
    "child-id",
    "detached-id",
    "detached-root",
    "cancel-children",
    "child-dropped",
    "cancel-turn",
    "continue-decision",
    "continue-next",
    "continue-carries",
    "continue-late-results",
    "system-calls",
    "trace-lines",
    "status-events",
    "status-limit",
    "kv-events",
    "kv-state",
    "kv-remote-read",
    "kv-prune",
    "kv-limits",
    "tag-recorded",
    "detached-always-starts",
    "queue-drain",
    "limit-stores-nothing",
    "duplicate-failure",
    "kv-prune-recorded-times",
    "match-error-detail",
    "patch-first-call",
    "patch-marker",
    "patch-deprecated",
    "mend-answers",
    "mend-signals",
    "edit-recorded",
    "ask-recorded",
    "ask-deadline",
    "ask-children",
    "ask-continued",
];

/// Rules that a case cannot show; the functions that prove them.
const PROVED_BY_FUNCTION: &[(&str, fn())] = &[
    ("turn-replaying", replaying::is_replaying_is_true_exactly_for_events_of_earlier_turns),
    ("retry-loop", traces::a_failed_attempt_is_logged_once),
    ("trace-lines", traces::log_lines_name_their_orchestration_and_are_suppressed_in_replay),
    ("match-errors", replaying::a_history_without_a_start_is_corrupted),
];

#[test]
fn every_rule_of_the_engine_has_a_case() {
    let all = FILES.iter().flat_map(|(file, text)| case::parse(file, text));
    let mut covered: BTreeSet<String> = all.flat_map(|case| case.rules).collect();
    covered.extend(PROVED_BY_FUNCTION.iter().map(|(rule, _)| (*rule).to_owned()));
    let lost: Vec<&&str> = RULES.iter().filter(|rule| !covered.contains(**rule)).collect();
    assert!(lost.is_empty(), "rules without a case: {lost:?}");
}

#[test]
fn every_case_names_a_known_rule() {
    let all = FILES.iter().flat_map(|(file, text)| case::parse(file, text));
    for case in all {
        let unknown: Vec<&String> =
            case.rules.iter().filter(|rule| !RULES.contains(&rule.as_str())).collect();
        assert!(unknown.is_empty(), "{}: {:?} names {unknown:?}", case.file, case.title);
    }
}

#[test]
fn every_rule_is_stated_in_the_rules_of_replay() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/internals/rules.md");
    // A packaged crate does not contain the docs of the repository.
    let Ok(text) = std::fs::read_to_string(path) else { return };
    let stated: BTreeSet<&str> =
        text.lines().filter_map(|line| line.strip_prefix("### ")).collect();
    assert_eq!(stated, RULES.iter().copied().collect());
}
