//! The steps that a state allows.

use crate::state::{Lease, Message, Node, State, Status};
use crate::{Config, Rule};

/// A step of one party. A number is that of a node, unless the text says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// The client sends its signal.
    Signal,
    /// A node asks which instance fits; only without [`Rule::FilterWithLease`].
    Choose(usize),
    /// A node fetches a turn: `Provider::fetch_orchestration_item`.
    Claim(usize),
    /// A node renews the lease of its turn after it expired: `renew_orchestration_item_lock`.
    Reclaim(usize),
    /// A node commits its turn: `Provider::commit_turn`.
    Commit(usize, Call),
    /// A node gives its turn back: `Provider::abandon_orchestration_item`.
    Abandon(usize),
    /// A node commits the result of its activity as a turn: `Provider::commit_direct_turn`.
    Direct(usize, Call),
    /// A node fetches an activity, whose number is the second: `Provider::fetch_work_items`.
    FetchWork(usize, u8),
    /// A node renews the lease of its activity after it expired: `renew_work_item_lock`.
    ReclaimWork(usize),
    /// A node stores the result of its activity as a message: `Provider::ack_work_item`.
    Finish(usize, Answer),
    /// The same in two transactions, with a crash between; only without [`Rule::FinishIsAtomic`].
    FinishTorn(usize),
    /// The lease of the turn expires.
    ExpireTurn,
    /// The lease of the activity with this number expires.
    ExpireWork(u8),
    /// A node is killed.
    Crash(usize),
    /// A node starts again.
    Restart(usize),
    /// A node leaves for good.
    Retire(usize),
    /// An operator's call takes the instance: `Provider::hold_instance`.
    Hold,
    /// The operator's call ends the instance.
    OperatorCommit,
    /// The operator's call releases the instance.
    OperatorRelease,
    /// A backup of the store is made.
    Backup,
    /// The store goes back to the backup.
    Restore,
    /// The instance is deleted and started again.
    Recreate,
}

/// Whether the caller gets the answer of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// It does.
    Arrives,
    /// The store has committed, and the caller gets an error.
    IsLost,
}

/// How a turn is committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// The commit leases the activity that it schedules.
    pub leases: bool,
    /// What the caller hears.
    pub answer: Answer,
}

/// Collects the steps of every party.
pub(crate) fn enabled(config: &Config, state: &State, actions: &mut Vec<Action>) {
    for index in 0..state.nodes.len() {
        of_node(config, state, index, actions);
    }
    of_leases(state, actions);
    of_operator(state, actions);
    if state.store.sent[Message::Signal.index()] == 0 {
        actions.push(Action::Signal);
    }
    if state.left.restores > 0 {
        match state.backup {
            None if state.store.view.status == Status::Running => actions.push(Action::Backup),
            None => {}
            Some(_) => actions.push(Action::Restore),
        }
    }
    if state.left.recreations > 0 && !state.store.is_leased() {
        actions.push(Action::Recreate);
    }
}

fn of_node(config: &Config, state: &State, index: usize, actions: &mut Vec<Action>) {
    let (node, kind) = (&state.nodes[index], &config.nodes[index]);
    if node.retired {
        return;
    }
    if node.down {
        actions.push(Action::Restart(index));
        return;
    }
    if state.left.crashes > 0 {
        actions.push(Action::Crash(index));
    }
    let is_newest = kind.release > 1 && index > 0;
    if config.retires && is_newest && state.store.view.status == Status::Ended {
        actions.push(Action::Retire(index));
    }
    of_turns(config, state, index, actions);
    of_work(config, state, index, actions);
}

fn of_turns(config: &Config, state: &State, index: usize, actions: &mut Vec<Action>) {
    let (node, store) = (&state.nodes[index], &state.store);
    let Some(turn) = &node.turn else {
        let fits = store.fits(config, &config.nodes[index]);
        let has_turn = store.has_turn(config);
        if config.keeps(Rule::FilterWithLease) {
            actions.extend((has_turn && fits).then_some(Action::Claim(index)));
        } else {
            actions.extend((has_turn && fits && !node.chosen).then_some(Action::Choose(index)));
            actions.extend((has_turn && node.chosen).then_some(Action::Claim(index)));
        }
        return;
    };
    actions.extend(calls(state).map(|call| Action::Commit(index, call)));
    if state.left.abandons > 0 {
        actions.push(Action::Abandon(index));
    }
    if may_reclaim(config, store.lease.as_ref(), turn.token) {
        actions.push(Action::Reclaim(index));
    }
}

fn of_work(config: &Config, state: &State, index: usize, actions: &mut Vec<Action>) {
    let (node, store) = (&state.nodes[index], &state.store);
    let Some(held) = &node.work else {
        let kind = &config.nodes[index];
        let fits = |activity| kind.runs(activity) || !config.keeps(Rule::WorkClaimFilters);
        let free = store.work.iter().filter(|work| {
            let is_leased = work.lease.as_ref().is_some_and(|lease| lease.live);
            fits(work.activity) && !(is_leased && config.keeps(Rule::WorkClaimSkipsLeased))
        });
        actions.extend(free.map(|work| Action::FetchWork(index, work.activity)));
        return;
    };
    actions.push(Action::Finish(index, Answer::Arrives));
    if state.left.lost_answers > 0 {
        actions.push(Action::Finish(index, Answer::IsLost));
    }
    if state.left.crashes > 0 && !config.keeps(Rule::FinishIsAtomic) {
        actions.push(Action::FinishTorn(index));
    }
    if may_take_direct_turn(node) {
        actions.extend(calls(state).map(|call| Action::Direct(index, call)));
    }
    let work = store.work.iter().find(|work| work.activity == held.activity);
    let lease = work.and_then(|work| work.lease.as_ref());
    if may_reclaim(config, lease, held.token) {
        actions.push(Action::ReclaimWork(index));
    }
}

/// The execution is in memory and no turn of it runs: the rules 5 and 6 of the fast path.
fn may_take_direct_turn(node: &Node) -> bool {
    node.turn.is_none() && node.warm.as_ref().is_some_and(|view| view.status == Status::Running)
}

/// Renewing a live lease changes nothing here, because leases have no length.
fn may_reclaim(config: &Config, lease: Option<&Lease>, token: u8) -> bool {
    lease.is_some_and(|lease| match lease.token == token {
        true => !lease.live,
        false => !config.keeps(Rule::RenewNeedsToken),
    })
}

fn calls(state: &State) -> impl Iterator<Item = Call> + use<> {
    let may_lose = state.left.lost_answers > 0;
    let answers = [Some(Answer::Arrives), may_lose.then_some(Answer::IsLost)];
    let answers = answers.into_iter().flatten();
    answers.flat_map(|answer| [true, false].map(|leases| Call { leases, answer }))
}

/// A lease without a holder expires as time goes by; one with a holder only if that is paused.
fn of_leases(state: &State, actions: &mut Vec<Action>) {
    let may_expire = |lease: &Lease| {
        lease.live && (state.left.expirations > 0 || !state.is_in_hand(lease.token))
    };
    if state.store.lease.as_ref().is_some_and(may_expire) {
        actions.push(Action::ExpireTurn);
    }
    for work in &state.store.work {
        if work.lease.as_ref().is_some_and(may_expire) {
            actions.push(Action::ExpireWork(work.activity));
        }
    }
}

fn of_operator(state: &State, actions: &mut Vec<Action>) {
    if state.operator.is_some() {
        actions.extend([Action::OperatorCommit, Action::OperatorRelease]);
    } else if state.left.holds > 0 && state.store.view.status != Status::Ended {
        actions.push(Action::Hold);
    }
}
