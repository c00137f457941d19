//! Every bound of the test kit, with its reason.

use std::time::Duration;

/// The time at which every environment starts, so that times in snapshots are stable: a day in
/// 2026.
pub(crate) const START_MS: u64 = 1_790_000_000_000;

/// How long an environment waits in real time for running code. Longer than any test should run.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Timers that a wait for a result skips to. A workflow that ends has fewer; one that never ends
/// must be reported.
pub(crate) const SKIPS_MAX: usize = 100_000;

/// Activities that run at once. As many as matter for the order of their results, and few enough
/// for the reference store, which visits every free slot.
pub(crate) const ACTIVITIES_MAX: usize = 32;

/// Turns that run at once. One: tests are then the same in every run.
pub(crate) const TURNS_MAX: usize = 1;

/// Longer than any lease of a node: after a crash, the clock moves by it.
pub(crate) const LEASES_EXPIRE_AFTER: Duration = Duration::from_secs(31);

/// Characters of an input or result in a snapshot. Enough to recognise it.
pub(crate) const SNAPSHOT_TEXT_MAX: usize = 200;

/// The lease of an activity that runs without a node. Its clock stands still.
pub(crate) const ACTIVITY_LEASE: Duration = Duration::from_secs(30);
