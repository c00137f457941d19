//! The workflows of the workloads and the results they must return.

/// One workflow. Each engine runs it with its own API; all of them must return [`Job::result`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Job {
    /// Steps one after another; each adds one.
    Chain {
        /// How many.
        steps: u64,
    },
    /// Steps one after another, then a wait for a number, which is added.
    ChainThenWait {
        /// How many.
        steps: u64,
    },
    /// Steps all at once; their results are added.
    FanOut {
        /// How many.
        width: u64,
    },
    /// Steps all at once that each wait for an external system.
    Waits {
        /// How many.
        count: u64,
        /// How long each of them waits.
        each_ms: u64,
    },
    /// Child workflows, each with children of its own; the leaves run one step.
    Tree {
        /// Levels below this one.
        depth: u64,
        /// Children of each.
        width: u64,
    },
    /// Timers, all at once.
    Timers {
        /// How many.
        count: u64,
        /// When they are due, counted from the first turn.
        delay_ms: u64,
    },
    /// Waits for numbers, one after another, and adds them.
    Events {
        /// How many.
        count: u64,
    },
    /// Executions that each run one step and continue as new.
    Loop {
        /// How many.
        rounds: u64,
    },
    /// Steps one after another that receive and return a text.
    Payload {
        /// How many.
        steps: u64,
        /// Size of the text.
        bytes: u64,
    },
}

/// The number that workloads send.
pub const SIGNAL: u64 = 7;

impl Job {
    /// Name under which engines register the workflow.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Chain { .. } => "chain",
            Self::ChainThenWait { .. } => "chain_then_wait",
            Self::FanOut { .. } => "fan_out",
            Self::Waits { .. } => "waits",
            Self::Tree { .. } => "tree",
            Self::Timers { .. } => "timers",
            Self::Events { .. } => "events",
            Self::Loop { .. } => "loop",
            Self::Payload { .. } => "payload",
        }
    }

    /// Input of the workflow: two numbers.
    pub fn input(&self) -> String {
        let (first, second) = match *self {
            Self::Chain { steps } | Self::ChainThenWait { steps } => (steps, 0),
            Self::FanOut { width } => (width, 0),
            Self::Waits { count, each_ms } => (count, each_ms),
            Self::Tree { depth, width } => (depth, width),
            Self::Timers { count, delay_ms } => (count, delay_ms),
            Self::Events { count } => (count, 0),
            Self::Loop { rounds } => (0, rounds),
            Self::Payload { steps, bytes } => (steps, bytes),
        };
        format!("{first} {second}")
    }

    /// The expected result.
    pub fn result(&self) -> String {
        let number = match *self {
            Self::Chain { steps } => steps,
            Self::ChainThenWait { steps } => steps + SIGNAL,
            Self::FanOut { width } => width * (width + 1) / 2,
            Self::Tree { depth, width } => width.pow(u32::try_from(depth).unwrap_or(u32::MAX)),
            Self::Timers { count, .. } | Self::Waits { count, .. } => count,
            Self::Events { count } => count * SIGNAL,
            Self::Loop { rounds } => rounds,
            Self::Payload { steps, bytes } => steps * bytes,
        };
        number.to_string()
    }
}

/// Reads what [`Job::input`] wrote.
pub fn two_numbers(input: &str) -> Result<(u64, u64), String> {
    let (first, second) = input.split_once(' ').ok_or("the input is not two numbers")?;
    let number = |text: &str| text.parse::<u64>().map_err(|error| error.to_string());
    Ok((number(first)?, number(second)?))
}

/// Reads one number.
pub fn number(text: &str) -> Result<u64, String> {
    text.parse::<u64>().map_err(|error| format!("{text}: {error}"))
}
