//! The scenario: workers finish activities of one instance while a dispatcher has a turn of it.

use shuttle::sync::atomic::{AtomicBool, Ordering};
use shuttle::sync::{Arc, Mutex};
use shuttle::thread;

use super::completions::{Completions, Offered, TurnLeader};
use crate::runtime::activities::FinishedActivity;

/// Workers, and activities of each.
const WORKERS: usize = 3;
const ACTIVITIES: usize = 2;

/// A way to gather results for the next direct turn.
pub trait Gathering: Send + Sync + 'static {
    /// Nothing waits yet.
    fn new() -> Self;

    /// A worker has a result. It calls `turn` for each turn that it leads, and returns the result
    /// if that must go through the queue.
    fn finish(&self, number: usize, turn: &dyn Fn(Vec<usize>)) -> Option<usize>;

    /// A dispatcher gathers results while its own turn runs, then takes turns with them.
    fn lead(&self, turn: &dyn Fn(Vec<usize>));
}

/// The code of the product.
pub struct Product(Completions);

impl Gathering for Product {
    fn new() -> Self {
        Self(Completions::default())
    }

    fn finish(&self, number: usize, turn: &dyn Fn(Vec<usize>)) -> Option<usize> {
        match self.0.offer(FinishedActivity { number }, true) {
            Offered::Lead(leader) => take_turns(leader, turn),
            Offered::Joined => {}
            Offered::Declined(finished) => return Some(finished.number),
        }
        None
    }

    fn lead(&self, turn: &dyn Fn(Vec<usize>)) {
        if let Some(leader) = self.0.lead("order") {
            take_turns(leader, turn);
        }
    }
}

fn take_turns(mut leader: TurnLeader, turn: &dyn Fn(Vec<usize>)) {
    while let Some(finished) = leader.next() {
        turn(finished.into_iter().map(|finished| finished.number).collect());
    }
}

/// Every result is part of one turn or goes through the queue, once; and no two turns of the
/// instance run at a time.
///
/// # Panics
/// When an interleaving breaks that.
pub fn results_are_taken_once<G: Gathering>() {
    let gathering = Arc::new(G::new());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let is_running = Arc::new(AtomicBool::new(false));
    let turn = {
        let seen = Arc::clone(&seen);
        move |finished: Vec<usize>| {
            let was_running = is_running.swap(true, Ordering::SeqCst);
            assert!(!was_running, "two turns of an instance at a time");
            seen.lock().expect("no thread panics under the lock").extend(finished);
            is_running.store(false, Ordering::SeqCst);
        }
    };
    let turn = Arc::new(turn);
    let mut threads = Vec::new();
    for worker in 0..WORKERS {
        let (gathering, seen, turn) =
            (Arc::clone(&gathering), Arc::clone(&seen), Arc::clone(&turn));
        threads.push(thread::spawn(move || {
            for activity in 0..ACTIVITIES {
                let queued = gathering.finish(worker * ACTIVITIES + activity, &*turn);
                seen.lock().expect("no thread panics under the lock").extend(queued);
            }
        }));
    }
    gathering.lead(&*turn);
    for thread in threads {
        thread.join().expect("the thread has not panicked");
    }
    let mut seen = seen.lock().expect("no thread panics under the lock").clone();
    seen.sort_unstable();
    assert_eq!(seen, (0..WORKERS * ACTIVITIES).collect::<Vec<_>>(), "lost or taken twice");
}
