//! The state of the model: the store, the nodes, and what was seen.

use crate::{Config, Faults};

pub(crate) type Token = u8;
pub(crate) type CommitId = u8;

/// A message of the orchestrator queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Message {
    Start,
    Signal,
    Continue,
    Result(u8),
}

pub(crate) const MESSAGES: [Message; 5] =
    [Message::Start, Message::Signal, Message::Continue, Message::Result(0), Message::Result(1)];

impl Message {
    pub(crate) fn index(self) -> usize {
        match self {
            Self::Start => 0,
            Self::Signal => 1,
            Self::Continue => 2,
            Self::Result(activity) => 3 + usize::from(activity),
        }
    }
}

/// How far the instance is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Status {
    /// Its start is queued.
    New,
    Running,
    ContinuedAsNew,
    Ended,
}

/// A lease of a turn or of an activity.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Lease {
    pub(crate) token: Token,
    /// It has not expired.
    pub(crate) live: bool,
}

/// A message in the queue, with the token of the turn that got it last.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Queued {
    pub(crate) message: Message,
    pub(crate) turn: Option<Token>,
}

/// An activity in the worker queue.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Work {
    pub(crate) activity: u8,
    pub(crate) lease: Option<Lease>,
}

/// What the code of the instance has seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Progress {
    pub(crate) results: [bool; 2],
    pub(crate) signal: bool,
}

/// A history and what its replay leads to. The store has one; a node holds a copy.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct View {
    pub(crate) incarnation: u8,
    pub(crate) execution: u8,
    pub(crate) status: Status,
    /// The commits that stored the events of the current execution.
    pub(crate) history: Vec<CommitId>,
    pub(crate) progress: Progress,
}

/// What is stored.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Store {
    pub(crate) view: View,
    pub(crate) pin: Option<u8>,
    pub(crate) lease: Option<Lease>,
    pub(crate) messages: Vec<Queued>,
    pub(crate) work: Vec<Work>,
    /// For the promises only: how often each message was sent and consumed.
    pub(crate) sent: [u8; 5],
    pub(crate) consumed: [u8; 5],
    /// For the promises only: how often each activity was scheduled and has delivered a result.
    pub(crate) scheduled: [u8; 2],
    pub(crate) results: [u8; 2],
}

/// A turn that a node has fetched.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct HeldTurn {
    pub(crate) token: Token,
    pub(crate) view: View,
    pub(crate) messages: Vec<Message>,
    /// For the promises only: the pin at the fetch, unless any node may have the turn.
    pub(crate) needs: Option<u8>,
    /// For the promises only: the store has accepted it, and the answer was lost.
    pub(crate) committed: bool,
}

/// An activity that a node runs.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct HeldWork {
    pub(crate) token: Token,
    pub(crate) activity: u8,
    /// For the promises only: the store has accepted its result, and the answer was lost.
    pub(crate) committed: bool,
}

/// A node: what it has in memory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Node {
    pub(crate) down: bool,
    pub(crate) retired: bool,
    pub(crate) turn: Option<HeldTurn>,
    pub(crate) warm: Option<View>,
    pub(crate) work: Option<HeldWork>,
    /// Only without [`FilterWithLease`](crate::Rule::FilterWithLease): the instance fitted when the
    /// node asked.
    pub(crate) chosen: bool,
}

impl Node {
    /// Loses what is in memory.
    pub(crate) fn forget(&mut self) {
        *self = Self { down: self.down, retired: self.retired, ..Self::default() };
    }
}

/// Promises that a step has broken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Broken {
    pub(crate) one_holder: bool,
    pub(crate) one_commit: bool,
    pub(crate) fence: bool,
    pub(crate) continues: bool,
    pub(crate) precedence: bool,
}

/// One state of the model.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct State {
    pub(crate) store: Store,
    pub(crate) backup: Option<Box<Store>>,
    pub(crate) nodes: [Node; 2],
    /// The token and the view of an operator's call that holds the instance.
    pub(crate) operator: Option<(Token, View)>,
    /// Faults that may still happen.
    pub(crate) left: Faults,
    /// Commit ids are never used again, not even after a restore.
    pub(crate) next_commit: CommitId,
    pub(crate) broken: Broken,
}

impl State {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            store: Store::started(0),
            backup: None,
            nodes: [Node::default(), Node::default()],
            operator: None,
            left: config.faults,
            next_commit: 1,
            broken: Broken::default(),
        }
    }

    /// A token that no party and no row has: tokens matter only by equality.
    pub(crate) fn new_token(&self) -> Token {
        let is_used = |token: Token| {
            let stores = [Some(&self.store), self.backup.as_deref()];
            stores.into_iter().flatten().any(|store| store.mentions(token))
                || self.is_in_hand(token)
        };
        (0..Token::MAX).find(|token| !is_used(*token)).expect("few tokens are in use at a time")
    }

    /// Whether a node or the operator has a token in its memory.
    pub(crate) fn is_in_hand(&self, token: Token) -> bool {
        let by_node = self.nodes.iter().any(|node| {
            node.turn.as_ref().is_some_and(|turn| turn.token == token)
                || node.work.as_ref().is_some_and(|work| work.token == token)
        });
        by_node || self.operator.as_ref().is_some_and(|(held, _)| *held == token)
    }
}

impl Store {
    /// An instance whose start is queued.
    pub(crate) fn started(incarnation: u8) -> Self {
        let mut store = Self {
            view: View {
                incarnation,
                execution: 1,
                status: Status::New,
                history: Vec::new(),
                progress: Progress::default(),
            },
            pin: None,
            lease: None,
            messages: Vec::new(),
            work: Vec::new(),
            sent: [0; 5],
            consumed: [0; 5],
            scheduled: [0; 2],
            results: [0; 2],
        };
        store.send(Message::Start);
        store
    }

    fn mentions(&self, token: Token) -> bool {
        let leases = self.work.iter().filter_map(|work| work.lease.as_ref()).chain(&self.lease);
        let mut turns = self.messages.iter().filter_map(|it| it.turn);
        leases.into_iter().any(|lease| lease.token == token) || turns.any(|turn| turn == token)
    }
}
