//! Kills and restarts one worker process, or pauses it beyond its leases.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use crate::herd::{Stall, Worker};
use crate::node::WORK_LEASE;
use crate::rng::Rng;

/// Shortest and longest time between two kills or pauses of a process.
const LIFE: (Duration, Duration) = (Duration::from_millis(300), Duration::from_secs(7));
/// Longest time until a killed process is restarted.
const ABSENCE: Duration = Duration::from_millis(500);

/// What was done to a process.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Done {
    pub(crate) kills: usize,
    pub(crate) pauses: usize,
}

/// Kills and pauses one process until `enough` is signalled or dropped; leaves it running.
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

/// Waits for `span`; false if the soak is over.
fn passes(enough: &Receiver<()>, span: Duration) -> bool {
    matches!(enough.recv_timeout(span), Err(RecvTimeoutError::Timeout))
}
