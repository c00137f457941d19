//! Every fault at every request. A normal run spreads the faults over the requests that every life
//! makes; the whole product takes minutes: `cargo xtask hostile` sets [`FULL_VARIABLE`].

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

/// Lives in which the fault of a case may wait for its request.
const LIVES_PER_CASE: usize = 6;
/// Some requests are only made if jobs happen to meet in a group.
const LIVES_PER_CASE_OF_FULL_RUN: usize = 30;
/// How long a fault may wait for the upkeep that meets it.
const UPKEEP_WITHIN: Duration = Duration::from_secs(8);

/// Requests that every life makes: those of a normal run. A full run has more, and one that does
/// not meet these tests something else.
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

type Options = fn() -> RuntimeOptions;

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

/// What nodes request in lives without a fault, and how often.
async fn requests(nodes: &mut [Node]) -> BTreeMap<String, usize> {
    let mut requests = BTreeMap::<String, usize>::new();
    let seen = join_all(nodes.iter_mut().map(Node::requests)).await;
    for (request, count) in seen.into_iter().flatten() {
        *requests.entry(request).or_default() += count;
    }
    for core in CORE {
        assert!(requests.contains_key(core), "no life makes {core}: {requests:?}");
    }
    requests
}

/// Whether lives make it often enough to wait for it. The others are upkeep.
fn is_of_lives(request: &str, count: usize, nodes: usize) -> bool {
    let is_core = CORE.contains(&request);
    is_core || is_full() && count >= nodes * LIVES / 2
}

/// Runs the cases on several nodes.
async fn run(what: &str, options: Options, faults: &[Fault], per_request: usize, harm: Harm) {
    let started = std::time::Instant::now();
    let (count, lives_max) = if is_full() {
        (NODES_OF_FULL_RUN, LIVES_PER_CASE_OF_FULL_RUN)
    } else {
        (NODES, LIVES_PER_CASE)
    };
    let mut nodes = join_all((0..count).map(|_| Node::start(options()))).await;
    let mut requests = requests(&mut nodes).await;
    requests.retain(|request, seen| is_of_lives(request, *seen, count));
    let cases = cases(&requests, faults, per_request);
    let (count, name) = (cases.len(), what.to_owned());
    let waiting = Arc::new(Mutex::new(VecDeque::from(cases)));
    let missed = join_all(nodes.into_iter().map(|mut node| {
        let (waiting, name) = (Arc::clone(&waiting), name.clone());
        tokio::spawn(async move {
            let mut missed = Vec::new();
            loop {
                let next = waiting.lock().unwrap().pop_front();
                let Some(case) = next else { break };
                if !node.meet(&case, harm, lives_max).await {
                    missed.push(case);
                }
            }
            node.end(&name).await;
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
    run("errors of the server", strict, &faults, 4, Harm::None).await;
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

/// What a node requests when it starts or at its own times. All of it meets the same fault, on a
/// new node for each fault.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn upkeep_may_fail_in_any_way() {
    let started = std::time::Instant::now();
    let mut nodes = [Node::start(strict()).await];
    let mut upkeep = requests(&mut nodes).await;
    upkeep.retain(|request, _| !CORE.contains(&request.as_str()));
    for node in nodes {
        node.end("upkeep").await;
    }
    let waiting = Arc::new(Mutex::new(VecDeque::from(faults_of_upkeep())));
    let (faults, requests) = (waiting.lock().unwrap().len(), upkeep.len());
    let met = join_all((0..NODES).map(|_| {
        let (waiting, upkeep) = (Arc::clone(&waiting), upkeep.clone());
        tokio::spawn(async move {
            let mut met = 0;
            loop {
                let next = waiting.lock().unwrap().pop_front();
                let Some((fault, options, harm)) = next else { break met };
                met += meet_at_upkeep(&upkeep, fault, options(), harm).await;
            }
        })
    }))
    .await;
    let met: usize = met.into_iter().map(Result::unwrap).sum();
    let (count, took) = (faults * requests, started.elapsed());
    println!("upkeep: {met} of {count} cases at {requests} requests in {took:?}");
    assert!(met * 3 > count, "upkeep meets faults: {met} of {count}, {upkeep:?}");
}

/// Faults with the options of the node that meets them, and what they may do.
fn faults_of_upkeep() -> Vec<(Fault, Options, Harm)> {
    let errors = OF_THE_SERVER.iter().chain(&OF_DEFECTS).map(|state| Fault::Error(state));
    let ends = OF_THE_SESSION.iter().map(|state| Fault::Fatal(state));
    let of_server = errors.chain(ends).map(|fault| (fault, strict as _, Harm::None));
    // Several at once cost an activity an attempt, so that a strict node poisons it.
    let tolerant: Options = RuntimeOptions::default;
    let of_data = OF_DATA.map(|state| (Fault::Error(state), tolerant, Harm::MayFail));
    let cuts = [Fault::CutBefore, Fault::CutAfter, Fault::Late(LATE)]
        .map(|fault| (fault, with_short_leases as _, Harm::LostLeases));
    let all = cuts.into_iter().chain(of_data).chain(of_server);
    all.take(if is_full() { usize::MAX } else { NODES }).collect()
}

/// Returns how many requests met the fault.
async fn meet_at_upkeep(
    upkeep: &BTreeMap<String, usize>,
    fault: Fault,
    options: RuntimeOptions,
    harm: Harm,
) -> usize {
    let case = |request: &String| Case { request: request.clone(), fault };
    let cases: Vec<Case> = upkeep.keys().map(case).collect();
    let mut node = Node::start_with(options, &cases).await;
    let within = if is_full() { UPKEEP_WITHIN } else { Duration::ZERO };
    let what = format!("{fault:?} at upkeep");
    let missed = node.meet_all(&what, harm, within).await;
    node.end(&what).await;
    cases.len() - missed.len()
}

#[test]
fn every_fault_has_its_turn_in_a_normal_run() {
    let requests: BTreeMap<String, usize> =
        (0..4).map(|number| (format!("{CONNECT} {number}"), 1)).collect();
    let faults = OF_DATA.map(Fault::Error);
    let cases = cases(&requests, &faults, 1);
    assert!(faults.iter().all(|fault| cases.iter().any(|case| case.fault == *fault)));
}
