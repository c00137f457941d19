//! The kinds of workflows, their inputs and their expected results.

/// One kind of workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Activities one after the other.
    Chain,
    /// Activities side by side.
    Fan,
    /// Activities with a timer between.
    Timer,
    /// Children with activities of their own.
    Family,
    /// Waits for a signal and then for three messages.
    Events,
    /// Activities in a session that it shares with others.
    Session,
    /// A running activity loses a race against a timer.
    Race,
    /// Completes while an activity runs.
    Leaves,
    /// Continues as new while an activity runs.
    Moves,
    /// Is cancelled while an activity runs.
    Cancelled,
    /// Continues as new, with values that it keeps.
    Again,
    /// An activity that takes longer than its lease.
    Slow,
    /// An activity that fails, and one that is retried.
    Fails,
    /// A child that is dropped while it waits.
    Orphan,
    /// An activity whose input and result fill many pages.
    Large,
}

/// One workflow of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Workflow {
    pub(crate) kind: Kind,
    pub(crate) number: u64,
}

impl Workflow {
    /// Its instance id.
    pub(crate) fn id(self) -> String {
        format!("{}-{}", self.kind.name(), self.number)
    }

    /// What clients send it, in this order.
    pub(crate) fn sent_texts(self) -> Vec<String> {
        match self.kind {
            Kind::Events => {
                let mut texts: Vec<String> = (0..MESSAGES).map(|m| format!("m{m}")).collect();
                texts.insert(1, format!("go-{}", self.number));
                texts
            }
            Kind::Cancelled => vec![ENOUGH.to_owned()],
            Kind::Chain
            | Kind::Fan
            | Kind::Timer
            | Kind::Family
            | Kind::Session
            | Kind::Race
            | Kind::Leaves
            | Kind::Moves
            | Kind::Again
            | Kind::Slow
            | Kind::Fails
            | Kind::Orphan
            | Kind::Large => Vec::new(),
        }
    }

    /// The workflow of an instance id; `None` for a child.
    pub(crate) fn parse(id: &str) -> Option<Self> {
        let (name, number) = id.split_once('-')?;
        let kind = EVERY_KIND.into_iter().find(|kind| kind.name() == name)?;
        Some(Self { kind, number: number.parse().ok()? })
    }
}

/// The expected result of an instance.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Output(String),
    Failure(String),
}

/// All kinds; a kind that is listed twice is started twice as often.
pub(crate) const KINDS: [Kind; 18] = [
    Kind::Chain,
    Kind::Chain,
    Kind::Fan,
    Kind::Fan,
    Kind::Timer,
    Kind::Family,
    Kind::Events,
    Kind::Events,
    Kind::Session,
    Kind::Session,
    Kind::Race,
    Kind::Leaves,
    Kind::Moves,
    Kind::Cancelled,
    Kind::Again,
    Kind::Slow,
    Kind::Fails,
    Kind::Orphan,
];

const EVERY_KIND: [Kind; 15] = [
    Kind::Chain,
    Kind::Fan,
    Kind::Timer,
    Kind::Family,
    Kind::Events,
    Kind::Session,
    Kind::Race,
    Kind::Leaves,
    Kind::Moves,
    Kind::Cancelled,
    Kind::Again,
    Kind::Slow,
    Kind::Fails,
    Kind::Orphan,
    Kind::Large,
];

/// Steps of a chain.
pub(crate) const STEPS: u32 = 4;
/// Activities side by side.
pub(crate) const WIDTH: u32 = 8;
/// Executions of an instance that continues as new.
pub(crate) const ROUNDS: u32 = 4;
/// Messages that are dequeued.
pub(crate) const MESSAGES: u32 = 3;
/// Why an instance is cancelled.
pub(crate) const ENOUGH: &str = "enough";
/// Length of a large input.
const LARGE_BYTES: usize = 48 * 1024;
/// Sessions that instances share.
pub(crate) const SESSIONS: u64 = 12;

impl Kind {
    /// Name of the orchestration.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Chain => "Chain",
            Self::Fan => "Fan",
            Self::Timer => "Timer",
            Self::Family => "Family",
            Self::Events => "Events",
            Self::Session => "Session",
            Self::Race => "Race",
            Self::Leaves => "Leaves",
            Self::Moves => "Moves",
            Self::Cancelled => "Cancelled",
            Self::Again => "Again",
            Self::Slow => "Slow",
            Self::Fails => "Fails",
            Self::Orphan => "Orphan",
            Self::Large => "Large",
        }
    }

    /// Input of the instance with this number.
    pub(crate) fn input(self, number: u64) -> String {
        match self {
            Self::Session => format!("session-{}", number % SESSIONS),
            Self::Again | Self::Moves => "0".to_owned(),
            Self::Chain
            | Self::Fan
            | Self::Timer
            | Self::Family
            | Self::Events
            | Self::Race
            | Self::Leaves
            | Self::Cancelled
            | Self::Slow
            | Self::Fails
            | Self::Orphan
            | Self::Large => number.to_string(),
        }
    }

    /// Expected result of the instance with this number.
    pub(crate) fn wanted(self, number: u64) -> Wanted {
        let steps = |count: u32| did((0..count).map(|step| step.to_string()));
        Wanted::Output(match self {
            Self::Chain => steps(STEPS),
            Self::Fan => steps(WIDTH),
            Self::Timer => did(["before".to_owned(), "after".to_owned()]),
            Self::Family => format!("{} {}", steps(STEPS), steps(STEPS)),
            Self::Events => {
                let messages = (0..MESSAGES).map(|message| format!("m{message}"));
                did(std::iter::once(format!("go-{number}")).chain(messages))
            }
            Self::Session => steps(3),
            Self::Race => format!("timer {}", steps(1)),
            Self::Leaves => steps(1),
            Self::Moves => format!("moved {}", ROUNDS - 1),
            Self::Cancelled => return Wanted::Failure(format!("canceled: {ENOUGH}")),
            Self::Again => (0..ROUNDS).map(|round| format!("{round};")).collect(),
            Self::Slow => did(["slowly".to_owned()]),
            Self::Fails => format!("no: {number}"),
            Self::Orphan => steps(1),
            Self::Large => done(&large(&number.to_string())),
        })
    }
}

/// The input of an activity that fills many pages.
pub(crate) fn large(number: &str) -> String {
    number.repeat(LARGE_BYTES / number.len().max(1))
}

/// What a step returns.
pub(crate) fn done(input: &str) -> String {
    format!("did {input}")
}

fn did(inputs: impl IntoIterator<Item = String>) -> String {
    let done: Vec<String> = inputs.into_iter().map(|input| done(&input)).collect();
    done.join(" ")
}
