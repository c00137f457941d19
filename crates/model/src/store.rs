//! What the store decides and stores. Each operation is one transaction.

use crate::program::Turn;
use crate::state::{Lease, Message, Queued, Status, Store, Token, View, Work};
use crate::{Config, NodeKind, Rule};

impl Store {
    pub(crate) fn send(&mut self, message: Message) {
        self.sent[message.index()] += 1;
        self.messages.push(Queued { message, turn: None });
    }

    pub(crate) fn is_leased(&self) -> bool {
        self.lease.as_ref().is_some_and(|lease| lease.live)
    }

    /// Whether a token is that of the live lease.
    pub(crate) fn is_held_by(&self, token: Token) -> bool {
        self.lease.as_ref().is_some_and(|lease| lease.live && lease.token == token)
    }

    /// The pin that a node must replay for the next turn (`fetch::needed_pin`).
    pub(crate) fn needed_pin(&self) -> Option<u8> {
        self.pin.filter(|_| self.view.status != Status::Ended)
    }

    /// Whether a fetch finds a turn, apart from the filter (`fetch::candidates`).
    pub(crate) fn has_turn(&self, config: &Config) -> bool {
        let is_free = !self.is_leased() || !config.keeps(Rule::ClaimSkipsLeased);
        is_free && self.messages.iter().any(|queued| is_fetched(config, queued))
    }

    /// Whether the filter of a node allows the next turn (`fetch::fits`).
    pub(crate) fn fits(&self, config: &Config, kind: &NodeKind) -> bool {
        let needed = match config.keeps(Rule::EndedFitsAll) {
            true => self.needed_pin(),
            false => self.pin,
        };
        !config.keeps(Rule::ClaimFilters) || needed.is_none_or(|pin| kind.replays(pin))
    }

    /// Leases the next turn and returns its messages (`fetch::lease_turn`).
    pub(crate) fn lease_turn(&mut self, config: &Config, token: Token) -> Vec<Message> {
        self.lease = Some(Lease { token, live: true });
        let taken = self.messages.iter_mut().filter(|queued| is_fetched(config, queued));
        taken
            .map(|queued| {
                queued.turn = Some(token);
                queued.message
            })
            .collect()
    }

    /// The history for a node that holds a part of it (`fetch::read_turn`).
    pub(crate) fn read(&self, config: &Config, held: Option<&View>) -> View {
        let Some(held) = held.filter(|held| self.contains(config, held)) else {
            return self.view.clone();
        };
        let behind = self.view.history.iter().skip(held.history.len());
        let history = held.history.iter().chain(behind).copied().collect();
        View { incarnation: held.incarnation, history, ..self.view.clone() }
    }

    /// Whether a mark names a part of the stored history (`fetch::is_held`).
    fn contains(&self, config: &Config, held: &View) -> bool {
        let length = held.history.len();
        self.is_same_execution(config, held)
            && length <= self.view.history.len()
            && self.is_same_commit(config, held, length)
    }

    fn is_same_execution(&self, config: &Config, held: &View) -> bool {
        let is_incarnation =
            held.incarnation == self.view.incarnation || !config.keeps(Rule::MarkNamesIncarnation);
        is_incarnation && held.execution == self.view.execution
    }

    /// Whether the commit that a mark names stored the event at a place. Earlier releases wrote no
    /// ids.
    fn is_same_commit(&self, config: &Config, held: &View, length: usize) -> bool {
        let compares = config.commit_ids && config.keeps(Rule::MarkNamesCommit);
        let at = |history: &[u8]| length.checked_sub(1).and_then(|at| history.get(at).copied());
        !compares || at(&self.view.history) == at(&held.history)
    }

    /// Whether a direct turn follows the stored history and nothing has precedence
    /// (`direct_turn::follows`).
    pub(crate) fn follows(&self, config: &Config, held: &View) -> bool {
        let length = held.history.len();
        let ends_there =
            self.view.history.len() == length && self.is_same_commit(config, held, length);
        self.is_same_execution(config, held)
            && (ends_there || !config.keeps(Rule::DirectNeedsEnd))
            && (!self.is_leased() || !config.keeps(Rule::DirectYieldsToLease))
            && (self.messages.is_empty() || !config.keeps(Rule::DirectYieldsToMessage))
    }

    /// Whether the token of a commit is good enough (`turn_lock::require_live`).
    pub(crate) fn accepts_token(&self, config: &Config, token: Token) -> bool {
        self.lease.as_ref().is_some_and(|lease| {
            (lease.token == token || !config.keeps(Rule::CommitNeedsToken))
                && (lease.live || !config.keeps(Rule::CommitNeedsLiveLease))
        })
    }

    /// Whether nothing is stored where a turn appends (`history::check_new`).
    pub(crate) fn has_room(&self, config: &Config, turn: &Turn) -> bool {
        let end = (self.view.execution, self.view.history.len());
        !turn.appends || turn.place >= end || !config.keeps(Rule::EventsAreNew)
    }

    /// Removes the messages of a turn and ends its lease (`commit::commit_turn`).
    pub(crate) fn consume(&mut self, config: &Config, token: Token, messages: &[Message]) {
        for message in messages {
            self.consumed[message.index()] += 1;
        }
        let removes = config.keeps(Rule::CommitConsumes);
        let keeps_later = config.keeps(Rule::CommitKeepsLater);
        self.messages.retain(|it| {
            let is_of_turn = it.turn == Some(token) || !keeps_later;
            !(removes && is_of_turn)
        });
        if config.keeps(Rule::CommitEndsLease) {
            self.lease = None;
        }
    }

    /// Stores what a turn decided (`commit::apply`). The lease is that of the activity which it
    /// schedules.
    pub(crate) fn apply(
        &mut self,
        config: &Config,
        turn: Turn,
        lease: Option<Token>,
        kind: &NodeKind,
    ) {
        if turn.appends {
            self.view = turn.after;
        }
        if turn.pins {
            self.pin = Some(kind.release);
        }
        if turn.continues {
            self.send(Message::Continue);
        }
        if let Some(activity) = turn.schedules {
            self.scheduled[usize::from(activity)] += 1;
            if lease.is_none() || config.keeps(Rule::LeasedWorkIsQueued) {
                let lease = lease.map(|token| Lease { token, live: true });
                self.work.push(Work { activity, lease });
            }
        }
    }

    pub(crate) fn work_of(&mut self, activity: u8) -> Option<&mut Work> {
        self.work.iter_mut().find(|work| work.activity == activity)
    }

    /// Whether a token is that of a live lease of an activity (`worker_queue::require_live`).
    pub(crate) fn holds_work(&self, token: Token) -> bool {
        let mut leases = self.work.iter().filter_map(|work| work.lease.as_ref());
        leases.any(|lease| lease.live && lease.token == token)
    }

    /// Counts the result of an activity, whichever way it takes.
    pub(crate) fn count_result(&mut self, activity: u8) {
        self.results[usize::from(activity)] += 1;
    }

    /// Removes an activity that has a result.
    pub(crate) fn remove_work(&mut self, activity: u8) {
        self.work.retain(|work| work.activity != activity);
    }
}

/// Whether a fetch gets a message that no live lease protects.
fn is_fetched(config: &Config, queued: &Queued) -> bool {
    queued.turn.is_none() || config.keeps(Rule::ClaimTakesExpired)
}
