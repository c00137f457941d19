//! The operations of a test case, in a form that shrinks and prints well.

/// Index of an instance in [`INSTANCES`].
pub(crate) type Id = usize;
/// Counted back from the latest lease.
pub(crate) type Back = usize;

pub(crate) const INSTANCES: [&str; 4] = ["a", "b", "a::sub::2", "ghost"];
pub(crate) const SESSIONS: [&str; 2] = ["s1", "s2"];
pub(crate) const OWNERS: [&str; 2] = ["w1", "w2"];
pub(crate) const TAGS: [&str; 2] = ["gpu", "cpu"];
pub(crate) const KEYS: [&str; 3] = ["k1", "k2", ""];
pub(crate) const VALUES: [&str; 3] = ["", "värde", "42"];
pub(crate) const MESSAGE_IDS: [&str; 3] = ["m1", "m2", "m3"];
/// What nodes may have registered: the code of executions, starts and continuations.
pub(crate) const CODE: [(&str, &str); 3] =
    [("Flow", "1.0.0"), ("Flow", "1.2.0"), ("Next", "1.0.0")];
/// The names of activities, and what nodes may have registered.
pub(crate) const HANDLERS: [&str; 3] = ["Work", "Worker", "Ärbete"];
pub(crate) const PINS: [&str; 4] = ["0.9.0", "1.0.0", "1.0.1-rc.1", "2.5.0"];

#[derive(Debug, Clone)]
pub(crate) enum Op {
    Send {
        message: Message,
        delay: Option<u64>,
    },
    Deliver {
        message: Message,
        id: Option<usize>,
        existing_only: bool,
    },
    Schedule(Activity),
    ScheduleWrongKind(Message),
    FetchTurn {
        lease: u64,
        filter: Filter,
    },
    FetchTurns {
        turns_max: usize,
        lease: u64,
        filter: Filter,
        code: Code,
        known: Known,
    },
    Commit {
        back: Back,
        turn: Turn,
        plain_ack: bool,
    },
    CommitDirect {
        instance: Option<Id>,
        mark: Mark,
        turn: Turn,
        finished: Vec<Back>,
    },
    AbandonTurn {
        back: Back,
        delay: Option<u64>,
        ignore_attempt: bool,
    },
    RenewTurn {
        back: Back,
        by: u64,
    },
    ReclaimTurn {
        back: Back,
        by: u64,
    },
    SuspendTurn(Back),
    SuspendInstance(Id),
    ResumeInstance(Id),
    RetrySuspended,
    Hold(Id, Option<Turn>),
    /// Stores an execution, and ends the current one if there is a turn for that.
    Reopen(Id, Turn, Option<Turn>),
    /// Copies an instance, deletes it and imports the copy.
    Move(Id),
    MarkTurn {
        back: Back,
        running: bool,
    },
    FetchWork {
        lease: u64,
        owner: Option<usize>,
        tags: Tags,
    },
    FetchWorks {
        lease: u64,
        owners: Vec<Option<usize>>,
        tags: Tags,
        handlers: Code,
    },
    FinishWork {
        back: Back,
        completion: Option<Message>,
    },
    AbandonWork {
        back: Back,
        delay: Option<u64>,
        ignore_attempt: bool,
    },
    RenewWork {
        back: Back,
        by: u64,
    },
    ReclaimWork {
        back: Back,
        by: u64,
    },
    VouchForWork {
        back: Back,
        leases: u32,
    },
    RenewSessions {
        owners: Vec<usize>,
        by: u64,
        idle: u64,
    },
    CleanUpSessions,
    Seed {
        instance: Id,
        execution_id: u64,
        first_event: u64,
        events: Vec<Fact>,
    },
    Delete {
        instance: Id,
        force: bool,
    },
    DeleteListed {
        instances: Vec<Id>,
        force: bool,
    },
    DeleteBulk(Selection),
    Prune {
        instance: Id,
        keep_last: Option<u32>,
        before: Option<u64>,
    },
    PruneBulk {
        selection: Selection,
        keep_last: Option<u32>,
        before: Option<u64>,
    },
    Corrupt(Id),
    Advance(u64),
}

/// A message of the orchestrator queue, or an activity, which that queue refuses.
#[derive(Debug, Clone)]
pub(crate) enum Message {
    Start { instance: Id, version: bool },
    StartChild { instance: Id, parent: Id },
    ContinueAsNew { instance: Id },
    Completed { instance: Id, id: u64 },
    Failed { instance: Id, id: u64 },
    Timer { instance: Id, after: u64 },
    Signal(Id),
    ChildCompleted { parent: Id },
    ChildFailed { parent: Id },
    Cancel(Id),
    Queued(Id),
    Activity(Activity),
}

#[derive(Debug, Clone)]
pub(crate) struct Activity {
    pub(crate) instance: Id,
    pub(crate) id: u64,
    pub(crate) session: Option<usize>,
    pub(crate) tag: Option<usize>,
    pub(crate) handler: usize,
}

/// What a turn commits.
#[derive(Debug, Clone)]
pub(crate) struct Turn {
    pub(crate) next_execution: bool,
    /// Lowers the first event id, so that events collide with stored ones or have the refused id
    /// zero.
    pub(crate) events_back: u64,
    pub(crate) events: Vec<Fact>,
    pub(crate) work: Vec<Message>,
    pub(crate) messages: Vec<Message>,
    pub(crate) cancelled: Vec<(Id, u64)>,
    pub(crate) status: Option<&'static str>,
    pub(crate) is_named: bool,
    pub(crate) parent: Option<Id>,
    pub(crate) pin: Option<usize>,
    pub(crate) lease: Option<Lease>,
}

/// The activities of a commit that the caller leases.
#[derive(Debug, Clone)]
pub(crate) struct Lease {
    /// Ascending indexes. May include activities of sessions and indexes out of range.
    pub(crate) indexes: Vec<usize>,
    pub(crate) length: u64,
}

/// The history mark of a direct turn.
#[derive(Debug, Clone)]
pub(crate) enum Mark {
    /// The end of the history after the latest successful commit.
    Newest,
    /// The mark of an earlier commit.
    Older(Back),
    /// After the end of the history.
    Beyond,
    OtherExecution,
    OtherIncarnation,
    OtherCommit,
}

impl Turn {
    /// A turn that sets only name and version.
    pub(crate) fn named() -> Self {
        Self {
            next_execution: false,
            events_back: 0,
            events: Vec::new(),
            work: Vec::new(),
            messages: Vec::new(),
            cancelled: Vec::new(),
            status: None,
            is_named: true,
            parent: None,
            pin: None,
            lease: None,
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) enum Fact {
    Started { carried: usize },
    Heard,
    Status(Option<usize>),
    Set { key: usize, value: usize },
    Clear(usize),
    ClearAll,
    Completed,
    Failed,
    CancelRequested,
}

#[derive(Debug, Clone)]
pub(crate) enum Filter {
    Off,
    Nothing,
    Ranges(Vec<(usize, usize)>),
}

/// The orchestrations or activities that a node has; `None` for all.
pub(crate) type Code = Option<Vec<usize>>;

/// The marks that a fetch presents.
#[derive(Debug, Clone)]
pub(crate) enum Known {
    Nothing,
    Newest,
    Oldest,
}

#[derive(Debug, Clone)]
pub(crate) enum Tags {
    DefaultOnly,
    Only(Vec<usize>),
    DefaultAnd(Vec<usize>),
    Any,
    None,
}

#[derive(Debug, Clone)]
pub(crate) struct Selection {
    pub(crate) instances: Option<Vec<Id>>,
    pub(crate) before: Option<u64>,
    pub(crate) limit: Option<u32>,
}

// Mostly the first instances, so that operations affect the same one.
