//! The list of workloads.

use crate::Job;

/// One workload. [`Case`] adds its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workload {
    /// Workflows of five steps, 50 at a time.
    Small50,
    /// Workflows of five steps, 500 at a time.
    Small500,
    /// Workflows of one step, one at a time.
    Latency,
    /// One workflow of many steps, one after another.
    Chain,
    /// One workflow of many steps, all at once.
    FanOut,
    /// One workflow of many steps, all at once, that wait for an external system.
    Waits,
    /// One workflow with children and grandchildren, `size` children each.
    Tree,
    /// Timers that are due at the same moment.
    Timers,
    /// Ten events to each of `size` / 10 instances.
    Events,
    /// One instance that continues as new.
    Loop,
    /// Steps that receive and return 100 KB.
    Payload100k,
    /// Steps that receive and return 1 MB.
    Payload1m,
    /// Starts as fast as they are accepted.
    Burst,
    /// An instance with `size` events resumes after a restart.
    ColdReplay,
    /// An idle node with `size` waiting instances.
    Idle,
    /// Memory of a node that has run `size` instances which now wait.
    Memory,
}

/// A workload with its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Case {
    /// The workload.
    pub workload: Workload,
    /// Its size; each workload says what it means.
    pub size: u64,
}

impl Workload {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::Small50,
        Self::Small500,
        Self::Latency,
        Self::Chain,
        Self::FanOut,
        Self::Waits,
        Self::Tree,
        Self::Timers,
        Self::Events,
        Self::Loop,
        Self::Payload100k,
        Self::Payload1m,
        Self::Burst,
        Self::ColdReplay,
        Self::Idle,
        Self::Memory,
    ];

    /// Name on the command line and in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Small50 => "small-50",
            Self::Small500 => "small-500",
            Self::Latency => "latency",
            Self::Chain => "chain",
            Self::FanOut => "fan-out",
            Self::Waits => "waits",
            Self::Tree => "tree",
            Self::Timers => "timers",
            Self::Events => "events",
            Self::Loop => "loop",
            Self::Payload100k => "payload-100k",
            Self::Payload1m => "payload-1m",
            Self::Burst => "burst",
            Self::ColdReplay => "cold-replay",
            Self::Idle => "idle",
            Self::Memory => "memory",
        }
    }

    /// The unit that is counted.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Small50 | Self::Small500 | Self::Latency => "workflows",
            Self::Chain | Self::FanOut | Self::Waits | Self::Payload100k | Self::Payload1m => {
                "steps"
            }
            Self::Tree => "children",
            Self::Timers => "timers",
            Self::Events | Self::ColdReplay => "events",
            Self::Loop => "executions",
            Self::Burst => "starts",
            Self::Idle | Self::Memory => "instances",
        }
    }

    /// The workload of this name.
    pub fn named(name: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|workload| workload.name() == name);
        found.copied().ok_or_else(|| format!("unknown workload {name}"))
    }

    /// A job with every feature that the workload needs, to check which engines support it.
    pub fn job(self, size: u64) -> Job {
        match self {
            Self::Small50 | Self::Small500 => Job::Chain { steps: 5 },
            Self::Latency => Job::Chain { steps: 1 },
            Self::Chain => Job::Chain { steps: size },
            Self::FanOut => Job::FanOut { width: size },
            Self::Waits => Job::Waits { count: size, each_ms: WAIT_MS },
            Self::Tree => Job::Tree { depth: 2, width: size },
            Self::Timers => Job::Timers { count: TIMERS_PER_INSTANCE, delay_ms: 0 },
            Self::Events => Job::Events { count: EVENTS_PER_INSTANCE },
            Self::Loop => Job::Loop { rounds: size },
            Self::Payload100k => Job::Payload { steps: size, bytes: 100_000 },
            Self::Payload1m => Job::Payload { steps: size, bytes: 1_000_000 },
            Self::ColdReplay => Job::ChainThenWait { steps: size / 2 },
            Self::Burst | Self::Idle | Self::Memory => Job::ChainThenWait { steps: 0 },
        }
    }
}

/// How long a step of [`Workload::Waits`] waits.
pub const WAIT_MS: u64 = 20;
/// Timers of one instance in [`Workload::Timers`].
pub const TIMERS_PER_INSTANCE: u64 = 10;
/// Events of one instance in [`Workload::Events`].
pub const EVENTS_PER_INSTANCE: u64 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_identifies_its_workload() {
        for workload in Workload::ALL {
            assert_eq!(Workload::named(workload.name()), Ok(*workload));
        }
        assert!(Workload::named("nothing").is_err());
    }
}
