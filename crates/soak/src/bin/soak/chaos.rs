//! Kills and restarts one worker process, or pauses it beyond its leases.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use crate::node::WORK_LEASE;
use crate::rng::Rng;
use crate::worker::{Worker, WorkerSetup};

/// Shortest and longest time between two kills or pauses of a process.
const LIFE: (Duration, Duration) = (Duration::from_millis(300), Duration::from_secs(7));
/// Longest time until a killed process is restarted.
const ABSENCE: Duration = Duration::from_millis(500);

/// Kills and pauses of a process.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Disturbances {
    pub(crate) kills: usize,
    pub(crate) pauses: usize,
}

/// Kills and pauses one process until `stop` receives a message or its sender is dropped. The
/// process keeps running.
pub(crate) fn disturb(
    setup: &WorkerSetup,
    name: usize,
    mut rng: Rng,
    stop: &Receiver<()>,
) -> Result<(Worker, Disturbances), String> {
    let mut disturbances = Disturbances::default();
    let mut worker = Worker::spawn(setup, name)?;
    loop {
        let life = rng.between(LIFE.0, LIFE.1);
        let (kill, pause) = (rng.below(2) == 0, rng.between(WORK_LEASE, WORK_LEASE * 3));
        let absence = rng.between(Duration::ZERO, ABSENCE);
        if !passes(stop, life) {
            return Ok((worker, disturbances));
        }
        if kill {
            worker.kill()?;
            disturbances.kills += 1;
            std::thread::sleep(absence);
            worker = Worker::spawn(setup, name)?;
        } else {
            worker.check()?;
            worker.pause()?;
            disturbances.pauses += 1;
            std::thread::sleep(pause);
            worker.resume()?;
        }
    }
}

/// Waits for `span`; false if the soak is over.
fn passes(stop: &Receiver<()>, span: Duration) -> bool {
    matches!(stop.recv_timeout(span), Err(RecvTimeoutError::Timeout))
}
