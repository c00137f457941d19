//! The same with a mistake: a leader looks for more results and ends its lead in two steps.

use shuttle::sync::{Mutex, MutexGuard};

use super::check::Gathering;

/// Results that wait; `None` without a leader.
pub struct TwoSteps(Mutex<Option<Vec<usize>>>);

impl TwoSteps {
    fn lock(&self) -> MutexGuard<'_, Option<Vec<usize>>> {
        self.0.lock().expect("no thread panics under the lock")
    }

    fn take_turns(&self, turn: &dyn Fn(Vec<usize>)) {
        loop {
            let finished = self.lock().as_mut().map(std::mem::take).unwrap_or_default();
            if finished.is_empty() {
                // A result that arrives here is lost.
                *self.lock() = None;
                return;
            }
            turn(finished);
        }
    }
}

impl Gathering for TwoSteps {
    fn new() -> Self {
        Self(Mutex::new(None))
    }

    fn finish(&self, number: usize, turn: &dyn Fn(Vec<usize>)) -> Option<usize> {
        let mut waiting = self.lock();
        if let Some(others) = waiting.as_mut() {
            others.push(number);
            return None;
        }
        *waiting = Some(vec![number]);
        drop(waiting);
        self.take_turns(turn);
        None
    }

    fn lead(&self, turn: &dyn Fn(Vec<usize>)) {
        let mut waiting = self.lock();
        if waiting.is_none() {
            *waiting = Some(Vec::new());
            drop(waiting);
            self.take_turns(turn);
        }
    }
}
