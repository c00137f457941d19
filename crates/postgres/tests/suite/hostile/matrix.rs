//! Every fault at every request. A normal run spreads the faults over the requests; the whole
//! product takes minutes: `cargo xtask hostile` sets [`FULL_VARIABLE`].

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use duroxide_core::runtime::RuntimeOptions;
use futures_util::future::join_all;

use super::life::{Case, Harm, LIVES, Node};
use super::states::{OF_DATA, OF_DEFECTS, OF_THE_SERVER, OF_THE_SESSION};
use super::wire::{CONNECT, Fault};

/// Asks for all faults at all requests.
const FULL_VARIABLE: &str = "DUROXIDE_HOSTILE_FULL";
/// Nodes at once: most of a case is waiting.
const NODES: usize = 4;
const NODES_OF_FULL_RUN: usize = 8;
/// Longer than anything that a node waits for before it sends more.
const LATE: Duration = Duration::from_millis(300);

/// Requests that every life makes. A run that does not meet them tests something else.
const CORE: [&str; 11] = [
    "commit_first_turn",
    "commit_step",
    "commit_turns",
    "connect",
    "enqueue_messages",
    "fetch_turns",
    "fetch_work",
    "prepare commit_turns",
    "prepare fetch_turns",
    "prepare fetch_work",
    "read_outcomes",
];

fn is_full() -> bool {
    std::env::var_os(FULL_VARIABLE).is_some()
}

/// Errors that pass must not cost an attempt: a second one would be poison.
fn strict() -> RuntimeOptions {
    RuntimeOptions { max_attempts: 1, ..RuntimeOptions::default() }
}

/// A lost response to a fetch leaves leases behind, which must expire.
fn with_short_leases() -> RuntimeOptions {
    RuntimeOptions {
        orchestrator_lock_timeout: Duration::from_secs(1),
        worker_lock_timeout: Duration::from_secs(1),
        session_lock_timeout: Duration::from_secs(1),
        ..RuntimeOptions::default()
    }
}

/// The cases of a run: each request meets some of the faults, in a full run all. `per_request`
/// times the number of requests is larger than the number of faults, so that each has its turn.
fn cases(requests: &BTreeMap<String, usize>, faults: &[Fault], per_request: usize) -> Vec<Case> {
    let full = is_full();
    let per_request = if full { faults.len() } else { per_request.min(faults.len()) };
    let mut next = faults.iter().cycle();
    let mut cases = Vec::new();
    for request in requests.keys() {
        let some = next.by_ref().take(per_request);
        cases.extend(some.map(|fault| Case { request: request.clone(), fault: *fault }));
        if full {
            next = faults.iter().cycle();
        }
    }
    cases
}

/// Runs the cases on several nodes.
async fn run(
    what: &str,
    options: fn() -> RuntimeOptions,
    faults: &[Fault],
    per_request: usize,
    harm: Harm,
) {
    let started = std::time::Instant::now();
    let count = if is_full() { NODES_OF_FULL_RUN } else { NODES };
    let mut nodes = join_all((0..count).map(|_| Node::start(options()))).await;
    let mut requests = BTreeMap::<String, usize>::new();
    for (request, count) in
        join_all(nodes.iter_mut().map(Node::requests)).await.into_iter().flatten()
    {
        *requests.entry(request).or_default() += count;
    }
    // Upkeep, which a node does at its own times, is no part of a life. A normal run also leaves
    // out what only some lives request: it would wait for it.
    let count_min = if is_full() { LIVES } else { NODES * LIVES };
    requests.retain(|name, count| *count >= count_min || CORE.contains(&name.as_str()));
    for core in CORE {
        assert!(requests.contains_key(core), "no life makes {core}: {requests:?}");
    }
    let cases = cases(&requests, faults, per_request);
    let count = cases.len();
    let waiting = Arc::new(Mutex::new(VecDeque::from(cases)));
    let missed = join_all(nodes.into_iter().map(|mut node| {
        let waiting = Arc::clone(&waiting);
        tokio::spawn(async move {
            let mut missed = Vec::new();
            loop {
                let next = waiting.lock().unwrap().pop_front();
                let Some(case) = next else { break };
                if !node.meet(&case, harm).await {
                    missed.push(case);
                }
            }
            node.end().await;
            missed
        })
    }))
    .await;
    let missed: Vec<Case> = missed.into_iter().flat_map(Result::unwrap).collect();
    println!(
        "{what}: {} of {count} cases at {} requests in {:?}; not met: {missed:?}",
        count - missed.len(),
        requests.len(),
        started.elapsed()
    );
    let core = missed.iter().find(|case| CORE.contains(&case.request.as_str()));
    assert!(core.is_none(), "{what}: never met: {core:?}");
    assert!(missed.len() * 4 < count, "{what}: most cases must be met: {missed:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_error_of_the_server_fails_work_or_costs_attempts() {
    let errors = OF_THE_SERVER.iter().chain(&OF_DEFECTS).map(|state| Fault::Error(state));
    let ends = OF_THE_SESSION.iter().map(|state| Fault::Fatal(state));
    let faults: Vec<Fault> = errors.chain(ends).collect();
    run("errors of the server", strict, &faults, 3, Harm::None).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn errors_of_data_fail_at_most_what_they_are_about() {
    let faults = OF_DATA.map(Fault::Error);
    run("errors of data", strict, &faults, 1, Harm::MayFail).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_and_responses_may_be_lost_or_late_anywhere() {
    let faults = [Fault::CutBefore, Fault::CutAfter, Fault::Late(LATE)];
    run("cuts and delays", with_short_leases, &faults, 3, Harm::LostLeases).await;
}

#[test]
fn every_fault_has_its_turn_in_a_normal_run() {
    let requests: BTreeMap<String, usize> =
        (0..4).map(|number| (format!("{CONNECT} {number}"), 1)).collect();
    let faults = OF_DATA.map(Fault::Error);
    let cases = cases(&requests, &faults, 1);
    assert!(faults.iter().all(|fault| cases.iter().any(|case| case.fault == *fault)));
}
