//! Options of a runtime.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::thread::available_parallelism;
use std::time::Duration;

use super::check::StartupCheck;
use super::{MismatchPolicy, ObservabilityConfig, UnregisteredBackoffConfig, UnregisteredWork};
use crate::client::RetentionPolicy;
use crate::limits::{
    ACTIVITIES_PER_CORE, CONCURRENT_ACTIVITIES, CONCURRENT_TURNS, LEASE_RENEWAL_INTERVAL_MIN,
    TURNS_PER_CORE, WARM_BYTES_MAX, WARM_INSTANCES_MAX,
};
use crate::providers::{SemverRange, TagFilter};

/// Options of one runtime. The defaults suit a production node.
///
/// # Examples
///
/// ```
/// # use duroxide_core as duroxide;
/// use std::time::Duration;
///
/// use duroxide::providers::TagFilter;
/// use duroxide::runtime::RuntimeOptions;
///
/// let options = RuntimeOptions::default()
///     .with_worker_concurrency(8)
///     .with_worker_lock_timeout(Duration::from_secs(60))
///     .with_worker_tag_filter(TagFilter::default_and(["gpu"]));
/// assert_eq!(options.validate(), Ok(()));
///
/// // The fields are public, so a struct expression works as well.
/// let options = RuntimeOptions { max_attempts: 3, ..RuntimeOptions::default() };
/// assert_eq!(options.max_attempts, 3);
/// ```
#[derive(Debug, Clone)]
pub struct RuntimeOptions {
    /// Shortest interval between two polls of a provider that cannot wait for work.
    pub dispatcher_min_poll_interval: Duration,
    /// How long one fetch waits for work, if the provider can wait.
    pub dispatcher_long_poll_timeout: Duration,
    /// Number of turns that run at once; with zero, this node runs none. The default depends on
    /// the number of cores.
    pub orchestration_concurrency: usize,
    /// Number of activities that run at once; with zero, this node runs none. The default suits
    /// I/O-bound activities on the cores of this machine.
    pub worker_concurrency: usize,
    /// Lease of an instance for one turn. The runtime renews it at half its length.
    pub orchestrator_lock_timeout: Duration,
    /// Has no effect; kept for 0.1.x. The runtime renews leases at half their length.
    pub orchestrator_lock_renewal_buffer: Duration,
    /// Lease of an activity. The runtime renews it at half its length.
    pub worker_lock_timeout: Duration,
    /// Only sets the lower bound of `session_idle_timeout`; kept for 0.1.x.
    pub worker_lock_renewal_buffer: Duration,
    /// Logs and gauges.
    pub observability: ObservabilityConfig,
    /// Delays for work whose handler is not registered on this node.
    pub unregistered_backoff: UnregisteredBackoffConfig,
    /// What happens to work whose handler is not registered on this node. With `None` it waits for
    /// a node that has the handler, unless `unregistered_backoff` is set to other delays than the
    /// default: a program that does so wants them, as in 0.1.x.
    pub unregistered_work: Option<UnregisteredWork>,
    /// Fails work that no live node could run for longer than this, with a configuration error
    /// ([`ErrorDetails::is_stranded`](crate::ErrorDetails::is_stranded)); `None` lets it wait. The
    /// time begins when this node first finds that no live node can run such work. An outage fails
    /// nothing: while no live node runs turns at all, turns wait, and so do activities.
    pub stranded_work_limit: Option<Duration>,
    /// A message that is fetched more often than this is poison.
    pub max_attempts: u32,
    /// How long a cancelled activity may keep running before the runtime aborts it.
    pub activity_cancellation_grace_period: Duration,
    /// Recorded versions that this node replays; `None` means every version up to this build.
    pub supported_replay_versions: Option<SemverRange>,
    /// Further recorded versions that this node replays, so that ranges may leave out some between
    /// them. They add to `supported_replay_versions`, whether that is set or not.
    pub further_replay_versions: Vec<SemverRange>,
    /// Lease of a session. The runtime renews it at half its length.
    pub session_lock_timeout: Duration,
    /// Has no effect; kept for 0.1.x. The runtime renews leases at half their length.
    pub session_lock_renewal_buffer: Duration,
    /// The runtime stops renewing a session that has no activity for this long.
    pub session_idle_timeout: Duration,
    /// How often the runtime removes expired sessions from the store.
    pub session_cleanup_interval: Duration,
    /// Number of sessions with running activities, over all slots.
    pub max_sessions_per_runtime: usize,
    /// Stable owner of sessions, shared by all slots; with `None`, each slot is its own owner.
    pub worker_node_id: Option<String>,
    /// Tags of the activities that this node runs.
    pub worker_tag_filter: TagFilter,
    /// Executions that stay in memory between turns, so that they need no replay.
    pub warm_cache: WarmCacheOptions,
    /// Whether this node compares the running executions with its code before it starts.
    pub startup_check: StartupCheck,
    /// What happens to instances whose code disagrees with their history. `None` suspends
    /// executions that this version or a later one started, and fails older ones.
    pub mismatch_policy: Option<MismatchPolicy>,
    /// The same for single orchestrations, by their names.
    pub mismatch_policies: BTreeMap<String, MismatchPolicy>,
    /// A debug switch for tests and staging. After each turn, the node replays the whole execution
    /// cold and fails it if the code decides otherwise, uses timers, I/O or tasks of the executor,
    /// blocks its thread, or drops a call at once. Nothing stays in memory between turns, so that
    /// each turn costs as much as the history is long. The first such turn of a process installs
    /// a panic hook that calls the present one.
    pub replay_every_turn: bool,
    /// What the nodes of the cluster delete in the background, and when. One node at a time does
    /// it, of those that have a policy; it applies its own.
    pub retention: Option<RetentionPolicy>,
}

/// Bounds of the executions that stay in memory between turns. Results never depend on them.
#[derive(Debug, Clone)]
pub struct WarmCacheOptions {
    /// Whether executions stay in memory at all.
    pub enabled: bool,
    /// Largest number of executions.
    pub instances_max: usize,
    /// Largest size together, in bytes: their state, and what their code has received.
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
            unregistered_work: None,
            stranded_work_limit: None,
            max_attempts: 10,
            activity_cancellation_grace_period: Duration::from_secs(10),
            supported_replay_versions: None,
            further_replay_versions: Vec::new(),
            session_lock_timeout: Duration::from_secs(30),
            session_lock_renewal_buffer: Duration::from_secs(5),
            session_idle_timeout: Duration::from_secs(300),
            session_cleanup_interval: Duration::from_secs(300),
            max_sessions_per_runtime: 10,
            worker_node_id: None,
            worker_tag_filter: TagFilter::default(),
            warm_cache: WarmCacheOptions::default(),
            startup_check: StartupCheck::default(),
            mismatch_policy: None,
            mismatch_policies: BTreeMap::new(),
            replay_every_turn: false,
            retention: None,
        }
    }
}

/// Defines `with_…` methods, each of which sets the field of the same name.
macro_rules! setters {
    ($($method:ident => $field:ident: $type:ty,)*) => {
        /// Setters of the fields.
        impl RuntimeOptions {
            $(
                #[doc = concat!("Sets the field `", stringify!($field), "`.")]
                #[must_use = "returns the changed options"]
                pub fn $method(mut self, $field: $type) -> Self {
                    self.$field = $field;
                    self
                }
            )*
        }
    };
}

setters! {
    with_dispatcher_min_poll_interval => dispatcher_min_poll_interval: Duration,
    with_dispatcher_long_poll_timeout => dispatcher_long_poll_timeout: Duration,
    with_orchestration_concurrency => orchestration_concurrency: usize,
    with_worker_concurrency => worker_concurrency: usize,
    with_orchestrator_lock_timeout => orchestrator_lock_timeout: Duration,
    with_worker_lock_timeout => worker_lock_timeout: Duration,
    with_observability => observability: ObservabilityConfig,
    with_unregistered_backoff => unregistered_backoff: UnregisteredBackoffConfig,
    with_max_attempts => max_attempts: u32,
    with_activity_cancellation_grace_period => activity_cancellation_grace_period: Duration,
    with_session_lock_timeout => session_lock_timeout: Duration,
    with_session_idle_timeout => session_idle_timeout: Duration,
    with_session_cleanup_interval => session_cleanup_interval: Duration,
    with_max_sessions_per_runtime => max_sessions_per_runtime: usize,
    with_worker_tag_filter => worker_tag_filter: TagFilter,
    with_warm_cache => warm_cache: WarmCacheOptions,
    with_startup_check => startup_check: StartupCheck,
    with_replay_every_turn => replay_every_turn: bool,
}

impl RuntimeOptions {
    /// Sets the field `supported_replay_versions`.
    #[must_use = "returns the changed options"]
    pub fn with_supported_replay_versions(mut self, versions: SemverRange) -> Self {
        self.supported_replay_versions = Some(versions);
        self
    }

    /// Sets the field `unregistered_work`.
    #[must_use = "returns the changed options"]
    pub fn with_unregistered_work(mut self, unregistered_work: UnregisteredWork) -> Self {
        self.unregistered_work = Some(unregistered_work);
        self
    }

    /// What happens to work whose handler is not registered.
    pub(crate) fn unregistered_work(&self) -> UnregisteredWork {
        let is_default = self.unregistered_backoff == UnregisteredBackoffConfig::default();
        self.unregistered_work.unwrap_or(match is_default {
            true => UnregisteredWork::Wait,
            false => UnregisteredWork::Backoff,
        })
    }

    /// Sets the field `stranded_work_limit`.
    #[must_use = "returns the changed options"]
    pub fn with_stranded_work_limit(mut self, limit: Duration) -> Self {
        self.stranded_work_limit = Some(limit);
        self
    }

    /// Sets the field `further_replay_versions`.
    #[must_use = "returns the changed options"]
    pub fn with_further_replay_versions(
        mut self,
        versions: impl IntoIterator<Item = SemverRange>,
    ) -> Self {
        self.further_replay_versions = versions.into_iter().collect();
        self
    }

    /// Sets the field `mismatch_policy`.
    #[must_use = "returns the changed options"]
    pub fn with_mismatch_policy(mut self, policy: MismatchPolicy) -> Self {
        self.mismatch_policy = Some(policy);
        self
    }

    /// Sets what happens to instances of one orchestration whose code disagrees with their history.
    #[must_use = "returns the changed options"]
    pub fn with_mismatch_policy_of(
        mut self,
        orchestration: impl Into<String>,
        policy: MismatchPolicy,
    ) -> Self {
        self.mismatch_policies.insert(orchestration.into(), policy);
        self
    }

    /// Sets the field `retention`.
    #[must_use = "returns the changed options"]
    pub fn with_retention(mut self, policy: RetentionPolicy) -> Self {
        self.retention = Some(policy);
        self
    }

    /// Sets the field `worker_node_id`.
    #[must_use = "returns the changed options"]
    pub fn with_worker_node_id(mut self, node_id: impl Into<String>) -> Self {
        self.worker_node_id = Some(node_id.into());
        self
    }

    /// Checks that the options do not contradict each other. A runtime does not start with options
    /// that do.
    ///
    /// # Errors
    /// The contradiction, as a text.
    pub fn validate(&self) -> Result<(), String> {
        // A running activity keeps its session alive by renewing its own lease. A session that
        // idles out between two renewals would be lost while its activity runs.
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

/// The interval at which a lease of this length is renewed: half of it, so that one failed renewal
/// can be retried in time.
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
        assert_eq!(options.further_replay_versions, []);
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
    fn a_setter_changes_its_own_field_only() {
        let options = RuntimeOptions::default()
            .with_max_attempts(3)
            .with_worker_node_id("node-1")
            .with_warm_cache(WarmCacheOptions { enabled: false, ..WarmCacheOptions::default() });
        let expected = RuntimeOptions {
            max_attempts: 3,
            worker_node_id: Some("node-1".to_owned()),
            warm_cache: WarmCacheOptions { enabled: false, ..WarmCacheOptions::default() },
            ..RuntimeOptions::default()
        };
        assert_eq!(format!("{options:?}"), format!("{expected:?}"));
    }

    #[test]
    fn default_concurrency_grows_with_the_cores_within_bounds() {
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
    fn a_buffer_longer_than_the_lease_counts_as_a_renewal_every_second() {
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
