//! Every bound of the suite.

use std::time::Duration;

/// A validation that takes longer hangs. The slowest one waits for two leases of the default
/// length.
pub(crate) const VALIDATION_TIME_MAX: Duration = Duration::from_secs(60);

/// Added to a lease before it counts as expired, because real clocks and timers are coarse.
pub(crate) const CLOCK_SLACK: Duration = Duration::from_millis(50);

/// How often a call is retried after a transient error.
pub(crate) const RETRIES_MAX: usize = 50;

/// How long a change may take to wake a waiter.
pub(crate) const WAKE_TIME_MAX: Duration = Duration::from_secs(10);

/// How much later than its poll timeout a fetch may return on a busy machine.
pub(crate) const POLL_OVERRUN_MAX: Duration = Duration::from_secs(3);

/// Number of fetches of which the fastest must return at once.
pub(crate) const SHORT_POLL_TRIES: usize = 5;

/// Lets a spawned fetch reach its wait.
pub(crate) const SETTLE_TIME: Duration = Duration::from_millis(20);

/// How long a lease of a live node is extended by a test that moves the clock.
pub(crate) const HELD_LEASE: Duration = Duration::from_secs(30);
