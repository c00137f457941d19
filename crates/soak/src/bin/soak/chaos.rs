//! Trouble for one worker process: killed and started again, or paused past its leases.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use crate::herd::{Stall, Worker};
use crate::node::WORK_LEASE;
use crate::rng::Rng;

/// A process lives at least and at most so long before something happens to it.
const LIFE: (Duration, Duration) = (Duration::from_millis(300), Duration::from_secs(7));
/// A killed process is missing for so long.
const ABSENCE: Duration = Duration::from_millis(500);

/// What was done to a process.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Done {
    pub(crate) kills: usize,
    pub(crate) pauses: usize,
}

/// Troubles one process until it is told that it is enough; leaves it running.
pub(crate) fn trouble(
    stall: &Stall,
    name: usize,
    mut rng: Rng,
    enough: &Receiver<()>,
) -> Result<(Worker, Done), String> {
    let mut done = Done::default();
    let mut worker = Worker::spawn(stall, name)?;
    loop {
        let life = rng.between(LIFE.0, LIFE.1);
        let (kill, pause) = (rng.below(2) == 0, rng.between(WORK_LEASE, WORK_LEASE * 3));
        let absence = rng.between(Duration::ZERO, ABSENCE);
        if !passes(enough, life) {
            return Ok((worker, done));
        }
        if kill {
            worker.kill()?;
            done.kills += 1;
            std::thread::sleep(absence);
            worker = Worker::spawn(stall, name)?;
        } else {
            worker.check()?;
            worker.pause()?;
            done.pauses += 1;
            std::thread::sleep(pause);
            worker.resume()?;
        }
    }
}

/// Waits; false if it is enough.
fn passes(enough: &Receiver<()>, span: Duration) -> bool {
    matches!(enough.recv_timeout(span), Err(RecvTimeoutError::Timeout))
}
