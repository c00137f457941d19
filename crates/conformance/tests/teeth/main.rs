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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_violation_is_caught() {
    assert_caught(1).await;
}

/// `cargo xtask conformance-teeth` runs this.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "prints a table: once a validation has caught a violation, others prove nothing more"]
async fn every_violation_with_all_that_catch_it() {
    assert_caught(usize::MAX).await;
}

async fn assert_caught(catchers_max: usize) {
    let table = run::table(Fault::ALL, catchers_max).await;
    println!("{table}");
    assert!(Fault::ALL.len() >= 40, "the suite must be tested with many violations");
    let uncaught = table.uncaught();
    assert!(uncaught.is_empty(), "no validation catches: {uncaught:?}");
}
