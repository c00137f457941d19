//! Every named violation of the contract must be caught by some validation.

mod admin;
mod direct;
mod factory;
mod fault;
mod holding;
mod instance_queues;
mod kinds;
mod leases;
mod limits;
mod memory;
mod messages;
mod provider;
mod queries;
mod reopening;
mod run;
mod suspension;
mod transfer;
mod turns;
mod values;
mod work;

use fault::Fault;

#[tokio::test]
async fn a_provider_without_a_fault_passes() {
    let caught = run::catchers(None, usize::MAX).await;
    assert_eq!(caught, Vec::<String>::new(), "the decorator without a fault breaks the contract");
}

/// Once a validation has caught a violation, others prove nothing more. `cargo xtask
/// conformance-teeth` asks for all of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_violation_is_caught() {
    let wants_all = std::env::var_os("DUROXIDE_TEETH_ALL").is_some();
    let table = run::table(Fault::ALL, if wants_all { usize::MAX } else { 1 }).await;
    println!("{table}");
    assert!(Fault::ALL.len() >= 40, "the suite must be tested with many violations");
    let uncaught = table.uncaught();
    assert!(uncaught.is_empty(), "no validation catches: {uncaught:?}");
}
