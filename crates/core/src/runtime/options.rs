//! What a user may choose about a runtime.

use std::num::NonZero;
use std::thread::available_parallelism;
use std::time::Duration;

use super::{ObservabilityConfig, UnregisteredBackoffConfig};
use crate::limits::{
    ACTIVITIES_PER_CORE, CONCURRENT_ACTIVITIES, CONCURRENT_TURNS, LEASE_RENEWAL_INTERVAL_MIN,
    TURNS_PER_CORE, WARM_BYTES_MAX, WARM_INSTANCES_MAX,
};
use crate::providers::{SemverRange, TagFilter};

/// Choices of one runtime. The defaults fit a production node.
#[derive(Debug, Clone)]
pub struct RuntimeOptions {
    /// Shortest idle round of a dispatcher, for providers that cannot wait for work.
    pub dispatcher_min_poll_interval: Duration,
    /// How long a provider that can wait is asked to.
    pub dispatcher_long_poll_timeout: Duration,
    /// Turns processed at once; zero means that this node takes none. Fits the number of cores
    /// by default.
    pub orchestration_concurrency: usize,
    /// Activities run at once; zero means that this node takes none. Fits I/O-bound activities
    /// on this number of cores by default.
    pub worker_concurrency: usize,
    /// Lease of an instance for one turn. It is renewed at half its length.
    pub orchestrator_lock_timeout: Duration,
    /// Kept for programs that set it: leases are renewed at half their length.
    pub orchestrator_lock_renewal_buffer: Duration,
    /// Lease of an activity. It is renewed at half its length.
    pub worker_lock_timeout: Duration,
    /// Kept for programs that set it: it only bounds `session_idle_timeout` from below.
    pub worker_lock_renewal_buffer: Duration,
    /// Logging and gauges.
    pub observability: ObservabilityConfig,
    /// Delays for work whose handler this node does not have.
    pub unregistered_backoff: UnregisteredBackoffConfig,
    /// A message fetched more often than this is poison.
    pub max_attempts: u32,
    /// How long a cancelled activity may go on before it is aborted.
    pub activity_cancellation_grace_period: Duration,
    /// Recorded versions that this node replays; `None` means everything up to this build.
    pub supported_replay_versions: Option<SemverRange>,
    /// Lease of a session. It is renewed at half its length.
    pub session_lock_timeout: Duration,
    /// Kept for programs that set it: leases are renewed at half their length.
    pub session_lock_renewal_buffer: Duration,
    /// A session without activity for this long is given up.
    pub session_idle_timeout: Duration,
    /// How often given-up sessions are removed.
    pub session_cleanup_interval: Duration,
    /// Sessions with running activities, over all slots.
    pub max_sessions_per_runtime: usize,
    /// Stable owner of sessions, shared by all slots; `None` makes each slot an owner of its own.
    pub worker_node_id: Option<String>,
    /// Activities that this node takes.
    pub worker_tag_filter: TagFilter,
    /// Executions kept between turns, so that they need no replay.
    pub warm_cache: WarmCacheOptions,
}

/// Bounds of the executions that are kept between turns. Results never depend on them.
#[derive(Debug, Clone)]
pub struct WarmCacheOptions {
    /// Whether any are kept.
    pub enabled: bool,
    /// How many at the most.
    pub instances_max: usize,
    /// Bytes of history that they may hold together.
    pub bytes_max: usize,
}

impl Default for WarmCacheOptions {
    fn default() -> Self {
        Self { enabled: true, instances_max: WARM_INSTANCES_MAX, bytes_max: WARM_BYTES_MAX }
    }
}

impl Default for RuntimeOptions {
    fn default() -> Self {
        let cores = available_parallelism().map_or(1, NonZero::get);
        Self {
            dispatcher_min_poll_interval: Duration::from_millis(100),
            dispatcher_long_poll_timeout: Duration::from_secs(30),
            orchestration_concurrency: turns_for(cores),
            worker_concurrency: activities_for(cores),
            orchestrator_lock_timeout: Duration::from_secs(5),
            orchestrator_lock_renewal_buffer: Duration::from_secs(2),
            worker_lock_timeout: Duration::from_secs(30),
            worker_lock_renewal_buffer: Duration::from_secs(5),
            observability: ObservabilityConfig::default(),
            unregistered_backoff: UnregisteredBackoffConfig::default(),
            max_attempts: 10,
            activity_cancellation_grace_period: Duration::from_secs(10),
            supported_replay_versions: None,
            session_lock_timeout: Duration::from_secs(30),
            session_lock_renewal_buffer: Duration::from_secs(5),
            session_idle_timeout: Duration::from_secs(300),
            session_cleanup_interval: Duration::from_secs(300),
            max_sessions_per_runtime: 10,
            worker_node_id: None,
            worker_tag_filter: TagFilter::default(),
            warm_cache: WarmCacheOptions::default(),
        }
    }
}

impl RuntimeOptions {
    /// Says what does not fit together. A runtime refuses to start with such options.
    pub fn validate(&self) -> Result<(), String> {
        // A running activity keeps its session alive by renewing its own lease. A session that
        // idles out between two renewals would be taken away from under it.
        let renewal = self
            .worker_lock_timeout
            .checked_sub(self.worker_lock_renewal_buffer)
            .unwrap_or(Duration::from_secs(1));
        if self.session_idle_timeout > renewal {
            return Ok(());
        }
        Err(format!(
            "session_idle_timeout ({:?}) must be longer than worker_lock_timeout ({:?}) less \
             worker_lock_renewal_buffer ({:?}): a session would idle out while its activity runs",
            self.session_idle_timeout, self.worker_lock_timeout, self.worker_lock_renewal_buffer
        ))
    }
}

/// How often a lease of this length is renewed: at half of it, so that one failed renewal can be
/// repeated in time.
pub(crate) fn lease_renewal_interval(lease: Duration) -> Duration {
    (lease / 2).max(LEASE_RENEWAL_INTERVAL_MIN)
}

fn turns_for(cores: usize) -> usize {
    cores.saturating_mul(TURNS_PER_CORE).clamp(*CONCURRENT_TURNS.start(), *CONCURRENT_TURNS.end())
}

fn activities_for(cores: usize) -> usize {
    cores
        .saturating_mul(ACTIVITIES_PER_CORE)
        .clamp(*CONCURRENT_ACTIVITIES.start(), *CONCURRENT_ACTIVITIES.end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(idle: u64, lock: u64, buffer: u64) -> RuntimeOptions {
        RuntimeOptions {
            session_idle_timeout: Duration::from_secs(idle),
            worker_lock_timeout: Duration::from_secs(lock),
            worker_lock_renewal_buffer: Duration::from_secs(buffer),
            ..RuntimeOptions::default()
        }
    }

    #[test]
    fn defaults_are_the_promised_ones() {
        let options = RuntimeOptions::default();
        assert_eq!(options.dispatcher_min_poll_interval, Duration::from_millis(100));
        assert_eq!(options.dispatcher_long_poll_timeout, Duration::from_secs(30));
        assert_eq!(options.orchestrator_lock_timeout, Duration::from_secs(5));
        assert_eq!(options.orchestrator_lock_renewal_buffer, Duration::from_secs(2));
        assert_eq!(options.worker_lock_timeout, Duration::from_secs(30));
        assert_eq!(options.worker_lock_renewal_buffer, Duration::from_secs(5));
        assert_eq!(options.max_attempts, 10);
        assert_eq!(options.activity_cancellation_grace_period, Duration::from_secs(10));
        assert_eq!(options.supported_replay_versions, None);
        assert_eq!(options.session_lock_timeout, Duration::from_secs(30));
        assert_eq!(options.session_lock_renewal_buffer, Duration::from_secs(5));
        assert_eq!(options.session_idle_timeout, Duration::from_secs(300));
        assert_eq!(options.session_cleanup_interval, Duration::from_secs(300));
        assert_eq!(options.max_sessions_per_runtime, 10);
        assert_eq!(options.worker_node_id, None);
        assert_eq!(options.worker_tag_filter, TagFilter::DefaultOnly);
        assert_eq!(options.validate(), Ok(()));
    }

    #[test]
    fn concurrency_grows_with_the_machine_within_bounds() {
        assert_eq!([1, 2, 8, 1000].map(turns_for), [16, 32, 64, 64]);
        assert_eq!([1, 2, 8, 1000].map(activities_for), [32, 64, 256, 256]);
    }

    #[test]
    fn a_session_must_not_idle_out_between_two_renewals() {
        assert_eq!(options(26, 30, 5).validate(), Ok(()));
        let refusal = options(25, 30, 5).validate().unwrap_err();
        assert!(refusal.starts_with("session_idle_timeout ("), "{refusal}");
    }

    #[test]
    fn a_buffer_above_the_lease_counts_as_one_second_of_renewal() {
        assert_eq!(options(2, 5, 10).validate(), Ok(()));
        assert!(options(1, 5, 10).validate().is_err());
    }

    #[test]
    fn leases_are_renewed_at_half_their_length() {
        assert_eq!(lease_renewal_interval(Duration::from_secs(30)), Duration::from_secs(15));
        assert_eq!(lease_renewal_interval(Duration::from_secs(5)), Duration::from_millis(2500));
        assert_eq!(lease_renewal_interval(Duration::from_millis(200)), Duration::from_millis(100));
        assert!(!lease_renewal_interval(Duration::ZERO).is_zero());
    }
}
