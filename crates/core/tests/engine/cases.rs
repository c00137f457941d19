//! Every case of every file, and the list of rules that must not lose theirs.

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

/// Rules of the contract that the engine alone answers for; `D` marks decisions.
const RULES: &[&str] = &[
    "2.3", "2.4", "2.5", "2.6", "2.7", "2.8", "2.9", "2.10", "3.1", "3.2", "3.3", "3.4", "4.1",
    "4.4", "4.5", "4.6", "5.1", "5.2", "5.3", "5.4", "5.5", "6.1", "6.2", "6.3", "7.1", "7.2",
    "7.3", "7.4", "7.5", "7.6", "7.8", "8.1", "8.2", "8.3", "8.4", "8.5", "8.6", "8.7", "8.8",
    "9.1", "9.2", "9.3", "9.5", "9.6", "9.7", "9.8", "10.1", "10.2", "10.3", "10.4", "11.1",
    "11.2", "11.3", "11.4", "11.5", "11.6", "11.7", "11.8", "11.10", "13.1", "13.2", "13.3",
    "13.4", "14.1", "14.3", "15.1", "15.3", "16.1", "16.2", "16.5", "16.6", "16.7", "18.1", "D3",
    "D4", "D5", "D6", "D7", "D15",
];

/// Rules that a turn does not show; named by function, so that none can go unnoticed.
const ELSEWHERE: &[(&str, fn())] = &[
    ("2.9", replaying::code_is_replaying_exactly_where_an_earlier_turn_has_been),
    ("5.1", traces::a_failed_attempt_is_logged_once),
    ("14.3", traces::lines_of_the_code_name_it_and_are_silent_while_replaying),
    ("3.2", replaying::a_history_without_a_start_is_corrupted),
];

#[test]
fn every_rule_of_the_engine_has_a_case() {
    let all = FILES.iter().flat_map(|(file, text)| case::parse(file, text));
    let mut covered: BTreeSet<String> = all.flat_map(|case| case.rules).collect();
    covered.extend(ELSEWHERE.iter().map(|(rule, _)| (*rule).to_owned()));
    let lost: Vec<&&str> = RULES.iter().filter(|rule| !covered.contains(**rule)).collect();
    assert!(lost.is_empty(), "rules without a case: {lost:?}");
}
