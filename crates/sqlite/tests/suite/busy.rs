//! A writer gets the lock although another process writes almost all the time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use duroxide_core::providers::{Provider, ProviderAdmin};

use crate::support::*;

/// The other process holds the lock for so long, and leaves it free for so long.
const HELD: Duration = Duration::from_millis(90);
const FREE: Duration = Duration::from_millis(10);
const WRITES: u64 = 15;
/// How often the other process may hold the lock meanwhile: about four times what is needed.
/// Counted and not timed, because a busy machine slows both processes down.
const HOLDS_MAX: u64 = 60;
const TIME_MAX: Duration = Duration::from_secs(60);

// Between two tries SQLite used to sleep for 100 ms, and missed most moments at which the lock was
// free: with three busy processes on one file a write waited for more than a second, leases
// expired, and activities ran again although nothing had failed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_writer_gets_the_lock_although_another_process_writes_almost_always() {
    let store = Store::new().await;
    let mut other = store.sql();
    other.busy_timeout(TIME_MAX).unwrap();
    let over = Arc::new(AtomicBool::new(false));
    let holds = Arc::new(AtomicU64::new(0));
    let writer = std::thread::spawn({
        let (over, holds) = (Arc::clone(&over), Arc::clone(&holds));
        move || {
            while !over.load(Ordering::SeqCst) {
                let holding = rusqlite::TransactionBehavior::Immediate;
                let tx = other.transaction_with_behavior(holding).unwrap();
                holds.fetch_add(1, Ordering::SeqCst);
                std::thread::sleep(HELD);
                tx.commit().unwrap();
                std::thread::sleep(FREE);
            }
        }
    });
    let began = Instant::now();
    for number in 0..WRITES {
        store.provider.enqueue_for_worker(activity("a", number)).await.unwrap();
    }
    let (took, holds) = (began.elapsed(), holds.load(Ordering::SeqCst));
    over.store(true, Ordering::SeqCst);
    writer.join().unwrap();
    println!("{WRITES} writes took {took:?}");
    assert!(holds <= HOLDS_MAX, "{WRITES} writes waited for {holds} transactions, {took:?}");
    let depth = store.provider.get_queue_depths().await.unwrap().worker_queue;
    assert_eq!(depth as u64, WRITES);
}
