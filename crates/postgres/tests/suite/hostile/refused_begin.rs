//! A server that refuses to begin a transaction, as when the statement is cancelled. The node sent
//! the statements of the transaction behind it without waiting, so that the server committed each
//! by itself, and then the node wrote them again: messages arrived twice.

use duroxide_core::providers::Provider;

use super::wire::{Fault, Wire};
use crate::support::*;

/// Pairs of jobs at the most until two of them share a transaction.
const PAIRS_MAX: usize = 1000;

#[tokio::test]
async fn jobs_of_a_transaction_that_could_not_begin_are_written_once() {
    let (wire, store) = Wire::before(Store::live()).await;
    let node = store.node().await;
    wire.arm("BEGIN", Fault::Error("57014"));
    let mut pairs = 0;
    while wire.is_armed() {
        pairs += 1;
        assert!(pairs < PAIRS_MAX, "no two jobs met in a group");
        let name = format!("i-{pairs}");
        let (message, work) = tokio::join!(
            node.enqueue_for_orchestrator(signal(&name, "once"), None),
            node.enqueue_for_worker(activity(&name, 1)),
        );
        message.unwrap();
        work.unwrap();
    }
    let pairs = i64::try_from(pairs).unwrap();
    assert_eq!(store.count("SELECT count(*) FROM $.orchestrator_queue").await, pairs);
    assert_eq!(store.count("SELECT count(*) FROM $.worker_queue").await, pairs);
}
