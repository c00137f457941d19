//! What the protocol promises.

use stateright::{Model, Property};

use crate::state::{MESSAGES, State, Status};
use crate::{Config, NodeKind};

/// A property of every reachable state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Promise {
    /// Two callers never hold the same turn or activity, and nothing is committed beside a holder.
    OneHolder,
    /// A claimed turn, and the result of an activity, is committed at most once.
    OneCommitPerTurn,
    /// A holder whose lease has expired or is another's changes nothing.
    LostLeaseCannotCommit,
    /// What a commit appends continues exactly the history that its code has seen.
    CommitContinuesWhatItRead,
    /// A turn that is not fetched does not overtake a message that waits.
    WaitingMessagesFirst,
    /// Every message is in the queue or was consumed once; every activity is in its queue or has
    /// one result.
    MessagesOnce,
    /// A node gets only executions that it can replay and activities that it can run.
    OnlyWhatItCanRun,
    /// A run can stop only when the instance has ended and both queues are empty. Faults are
    /// bounded, so that every run is one in which they stop; [`explore_runs`](crate::explore_runs)
    /// shows that none goes on for ever.
    EventuallyCommitted,
}

impl Promise {
    /// Every promise.
    pub const ALL: &[Self] = &[
        Self::OneHolder,
        Self::OneCommitPerTurn,
        Self::LostLeaseCannotCommit,
        Self::CommitContinuesWhatItRead,
        Self::WaitingMessagesFirst,
        Self::MessagesOnce,
        Self::OnlyWhatItCanRun,
        Self::EventuallyCommitted,
    ];

    /// The name under which the checker reports it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OneHolder => "one holder at a time",
            Self::OneCommitPerTurn => "at most one commit per turn",
            Self::LostLeaseCannotCommit => "a lost lease cannot commit",
            Self::CommitContinuesWhatItRead => "a commit continues what it read",
            Self::WaitingMessagesFirst => "waiting messages come first",
            Self::MessagesOnce => "no message lost or consumed twice",
            Self::OnlyWhatItCanRun => "a node gets only what it can run",
            Self::EventuallyCommitted => "eventually committed",
        }
    }

    pub(crate) fn property(self) -> Property<Config> {
        Property::always(self.name(), self.condition())
    }

    fn condition(self) -> fn(&Config, &State) -> bool {
        match self {
            Self::OneHolder => |_, state| !state.broken.one_holder,
            Self::OneCommitPerTurn => |_, state| !state.broken.one_commit,
            Self::LostLeaseCannotCommit => |_, state| !state.broken.fence,
            Self::CommitContinuesWhatItRead => |_, state| !state.broken.continues,
            Self::WaitingMessagesFirst => |_, state| !state.broken.precedence,
            Self::MessagesOnce => |_, state| counts_add_up(state),
            Self::OnlyWhatItCanRun => |config, state| holds_fit(&config.nodes, state),
            Self::EventuallyCommitted => |config, state| is_done(state) || can_move(config, state),
        }
    }
}

/// The counters are part of the store, so that they follow a restored backup.
fn counts_add_up(state: &State) -> bool {
    let store = &state.store;
    let messages = MESSAGES.iter().all(|message| {
        let queued = store.messages.iter().filter(|it| it.message == *message).count();
        let (sent, consumed) = (store.sent[message.index()], store.consumed[message.index()]);
        sent <= 1 && usize::from(sent) == usize::from(consumed) + queued
    });
    let activities = [0, 1].into_iter().all(|activity: u8| {
        let at = usize::from(activity);
        let queued = store.work.iter().filter(|it| it.activity == activity).count();
        store.scheduled[at] <= 1
            && usize::from(store.scheduled[at]) == queued + usize::from(store.results[at])
    });
    messages && activities
}

/// Whether everything that was leased fits the node that got it.
fn holds_fit(kinds: &[NodeKind; 2], state: &State) -> bool {
    state.nodes.iter().zip(kinds).all(|(node, kind)| {
        let turn = node.turn.as_ref().and_then(|turn| turn.needs);
        let work = node.work.as_ref().map(|work| work.activity);
        turn.is_none_or(|pin| kind.replays(pin)) && work.is_none_or(|activity| kind.runs(activity))
    })
}

/// Whether nothing is left to do.
fn is_done(state: &State) -> bool {
    let store = &state.store;
    store.view.status == Status::Ended && store.messages.is_empty() && store.work.is_empty()
}

fn can_move(config: &Config, state: &State) -> bool {
    let mut actions = Vec::new();
    config.actions(state, &mut actions);
    !actions.is_empty()
}
