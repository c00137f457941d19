//! Does the suite bite? Every named violation of the contract must be caught by some validation.

mod admin;
mod direct;
mod factory;
mod fault;
mod leases;
mod limits;
mod memory;
mod provider;
mod run;
mod turns;
mod values;
mod work;

use fault::Fault;

#[tokio::test]
async fn without_a_fault_nothing_is_caught() {
    let caught = run::catchers(None).await;
    assert_eq!(caught, Vec::<String>::new(), "the decorator itself breaks the contract");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_violation_is_caught() {
    let table = run::table(Fault::ALL).await;
    println!("{table}");
    assert!(Fault::ALL.len() >= 40, "a suite is only as good as what it was tried on");
    let uncaught = table.uncaught();
    assert!(uncaught.is_empty(), "no validation notices: {uncaught:?}");
}
