//! What each step changes: the answer of the store, and what the caller makes of it.

use crate::action::{Action, Answer, Call};
use crate::program::{Turn, run};
use crate::state::{HeldTurn, HeldWork, Lease, Message, State, Status, Store, View};
use crate::{Config, Rule};

impl State {
    /// Makes a step. `false` if it is the same as another one that the state allows.
    pub(crate) fn step(&mut self, config: &Config, action: Action) -> bool {
        match action {
            Action::Signal => self.store.send(Message::Signal),
            Action::Choose(node) => self.nodes[node].chosen = true,
            Action::Claim(node) => self.claim(config, node),
            Action::Reclaim(node) => self.reclaim(node),
            Action::Commit(node, call) => return self.commit(config, node, call),
            Action::Abandon(node) => self.abandon(node),
            Action::Direct(node, call) => return self.direct(config, node, call),
            Action::FetchWork(node, activity) => self.fetch_work(node, activity),
            Action::ReclaimWork(node) => self.reclaim_work(node),
            Action::Finish(node, answer) => return self.finish(config, node, answer),
            Action::FinishTorn(node) => self.finish_torn(node),
            Action::ExpireTurn => self.expire_turn(),
            Action::ExpireWork(activity) => self.expire_work(activity),
            Action::Crash(node) => self.crash(node),
            Action::Restart(node) => self.nodes[node].down = false,
            Action::Retire(node) => {
                self.nodes[node].forget();
                self.nodes[node].retired = true;
            }
            Action::Hold => self.hold(),
            Action::OperatorCommit => self.operator_commit(config),
            Action::OperatorRelease => self.operator_release(),
            Action::Backup => self.backup = Some(Box::new(self.store.clone())),
            Action::Restore => self.restore(),
            Action::Recreate => {
                self.left.recreations -= 1;
                self.store = Store::started(self.store.view.incarnation + 1);
            }
        }
        true
    }

    fn claim(&mut self, config: &Config, node: usize) {
        let token = self.new_token();
        self.broken.one_holder |= self.store.is_leased();
        let warm = self.nodes[node].warm.take();
        let view = self.store.read(config, warm.as_ref());
        let needs = self.store.needed_pin();
        let messages = self.store.lease_turn(config, token);
        let turn = HeldTurn { token, view, messages, needs, committed: false };
        self.nodes[node].chosen = false;
        self.nodes[node].turn = Some(turn);
    }

    fn reclaim(&mut self, node: usize) {
        let Some(turn) = &self.nodes[node].turn else { return };
        let is_own = self.store.lease.as_ref().is_some_and(|lease| lease.token == turn.token);
        self.broken.one_holder |= !is_own;
        self.store.lease = Some(Lease { token: turn.token, live: true });
    }

    fn commit(&mut self, config: &Config, node: usize, call: Call) -> bool {
        let Some(held) = self.nodes[node].turn.clone() else { return false };
        let turn = run(config, &held.view, &held.messages, self.next_commit);
        let Some(lease) = self.plan(config, node, &turn, call.leases) else { return false };
        let is_accepted =
            self.store.accepts_token(config, held.token) && self.store.has_room(config, &turn);
        if !is_accepted {
            // The lease is lost, or the history is not what the node holds: it drops both.
            self.nodes[node].turn = None;
            return call.answer == Answer::Arrives && !call.leases;
        }
        self.broken.fence |= !self.store.is_held_by(held.token);
        self.broken.one_commit |= held.committed;
        self.broken.continues |= turn.appends && held.view != self.store.view;
        self.store.consume(config, held.token, &held.messages);
        let after = self.store_turn(config, node, turn, lease);
        match call.answer {
            Answer::Arrives => {
                self.nodes[node].turn = None;
                self.keep(node, after, lease);
            }
            Answer::IsLost => {
                self.left.lost_answers -= 1;
                self.nodes[node].turn = Some(HeldTurn { committed: true, ..held });
            }
        }
        true
    }

    fn direct(&mut self, config: &Config, node: usize, call: Call) -> bool {
        let Some(view) = self.nodes[node].warm.take() else { return false };
        let Some(work) = self.nodes[node].work.clone() else { return false };
        let messages = [Message::Result(work.activity)];
        let turn = run(config, &view, &messages, self.next_commit);
        // The slot of the activity is free for the one that the turn schedules.
        self.nodes[node].work = None;
        let Some(lease) = self.plan(config, node, &turn, call.leases) else { return false };
        let has_lease = self.store.holds_work(work.token);
        let is_accepted = self.store.follows(config, &view)
            && (has_lease || !config.keeps(Rule::DirectNeedsWorkLease))
            && self.store.has_room(config, &turn);
        if !is_accepted {
            if !config.keeps(Rule::DirectIsAtomic) {
                self.store.remove_work(work.activity);
            }
            // The execution is dropped; the result goes through the queue.
            self.nodes[node].work = Some(work);
            return call.answer == Answer::Arrives && !call.leases;
        }
        self.broken.one_holder |= self.store.is_leased();
        self.broken.precedence |= !self.store.messages.is_empty();
        self.broken.fence |= !has_lease;
        self.broken.one_commit |= work.committed;
        self.broken.continues |= view != self.store.view;
        self.store.remove_work(work.activity);
        self.store.count_result(work.activity);
        self.store.sent[messages[0].index()] += 1;
        self.store.consumed[messages[0].index()] += 1;
        let after = self.store_turn(config, node, turn, lease);
        match call.answer {
            Answer::Arrives => self.keep(node, after, lease),
            Answer::IsLost => {
                self.left.lost_answers -= 1;
                self.nodes[node].work = Some(HeldWork { committed: true, ..work });
            }
        }
        true
    }

    /// The lease for the activity that a turn schedules: `Some(None)` if it goes to the queue.
    /// `None` if the call leases and the turn has nothing to lease, or the node cannot run it.
    fn plan(
        &self,
        config: &Config,
        node: usize,
        turn: &Turn,
        leases: bool,
    ) -> Option<Option<PlannedLease>> {
        if !leases {
            return Some(None);
        }
        let fits = |activity: &u8| {
            config.nodes[node].runs(*activity) || !config.keeps(Rule::LeasedWorkFits)
        };
        let activity = turn.schedules.filter(fits)?;
        let is_free = self.nodes[node].work.is_none();
        is_free.then(|| Some(PlannedLease { activity, token: self.new_token() }))
    }

    fn store_turn(
        &mut self,
        config: &Config,
        node: usize,
        turn: Turn,
        lease: Option<PlannedLease>,
    ) -> View {
        let after = turn.after.clone();
        self.next_commit += u8::from(turn.appends);
        let token = lease.map(|lease| lease.token);
        self.store.apply(config, turn, token, &config.nodes[node]);
        after
    }

    /// The node keeps a running execution in memory and runs what the commit leased to it.
    fn keep(&mut self, node: usize, after: View, lease: Option<PlannedLease>) {
        let node = &mut self.nodes[node];
        node.warm = Some(after).filter(|after| after.status == Status::Running);
        if let Some(PlannedLease { activity, token }) = lease {
            node.work = Some(HeldWork { token, activity, committed: false });
        }
    }

    fn abandon(&mut self, node: usize) {
        self.left.abandons -= 1;
        let Some(turn) = self.nodes[node].turn.take() else { return };
        self.release(turn.token);
    }

    /// Ends the lease with a token, if it is the current one (`turn_lock::abandon`).
    fn release(&mut self, token: u8) {
        let store = &mut self.store;
        if store.lease.as_ref().is_some_and(|lease| lease.token == token) {
            store.lease = None;
            store.messages.iter_mut().for_each(|queued| queued.turn = None);
        }
    }

    fn fetch_work(&mut self, node: usize, activity: u8) {
        let token = self.new_token();
        let Some(work) = self.store.work_of(activity) else { return };
        let earlier = work.lease.replace(Lease { token, live: true });
        self.broken.one_holder |= earlier.is_some_and(|lease| lease.live);
        self.nodes[node].work = Some(HeldWork { token, activity, committed: false });
    }

    fn reclaim_work(&mut self, node: usize) {
        let Some(held) = &self.nodes[node].work else { return };
        let Some(work) = self.store.work_of(held.activity) else { return };
        let is_own = work.lease.as_ref().is_some_and(|lease| lease.token == held.token);
        work.lease = Some(Lease { token: held.token, live: true });
        self.broken.one_holder |= !is_own;
    }

    fn finish(&mut self, config: &Config, node: usize, answer: Answer) -> bool {
        let Some(held) = self.nodes[node].work.take() else { return false };
        let has_lease = self.store.holds_work(held.token);
        if !has_lease && config.keeps(Rule::FinishNeedsLease) {
            return answer == Answer::Arrives;
        }
        self.broken.fence |= !has_lease;
        self.broken.one_commit |= held.committed;
        self.store.remove_work(held.activity);
        self.store.count_result(held.activity);
        self.store.send(Message::Result(held.activity));
        if answer == Answer::IsLost {
            self.left.lost_answers -= 1;
            self.nodes[node].work = Some(HeldWork { committed: true, ..held });
        }
        true
    }

    fn finish_torn(&mut self, node: usize) {
        let held = self.nodes[node].work.clone();
        if let Some(held) = held.filter(|held| self.store.holds_work(held.token)) {
            self.store.remove_work(held.activity);
        }
        self.crash(node);
    }

    fn expire_turn(&mut self) {
        let Some(lease) = self.store.lease.clone() else { return };
        self.left.expirations -= u8::from(self.is_in_hand(lease.token));
        self.store.lease = Some(Lease { live: false, ..lease });
    }

    fn expire_work(&mut self, activity: u8) {
        let Some(lease) = self.store.work_of(activity).and_then(|work| work.lease.clone()) else {
            return;
        };
        self.left.expirations -= u8::from(self.is_in_hand(lease.token));
        if let Some(work) = self.store.work_of(activity) {
            work.lease = Some(Lease { live: false, ..lease });
        }
    }

    fn crash(&mut self, node: usize) {
        self.left.crashes -= 1;
        self.nodes[node].forget();
        self.nodes[node].down = true;
    }

    /// Takes the instance from any holder (`holding::hold`).
    fn hold(&mut self) {
        self.left.holds -= 1;
        let token = self.new_token();
        self.store.messages.iter_mut().for_each(|queued| queued.turn = None);
        self.store.lease = Some(Lease { token, live: true });
        self.operator = Some((token, self.store.view.clone()));
    }

    /// Ends the instance: the commit of a turn without messages.
    fn operator_commit(&mut self, config: &Config) {
        let Some((token, view)) = self.operator.take() else { return };
        let place = (view.execution, view.history.len());
        let mut after = View { status: Status::Ended, ..view.clone() };
        after.history.push(self.next_commit);
        let turn =
            Turn { after, schedules: None, continues: false, pins: false, appends: true, place };
        if !self.store.accepts_token(config, token) || !self.store.has_room(config, &turn) {
            return;
        }
        self.broken.fence |= !self.store.is_held_by(token);
        self.broken.continues |= view != self.store.view;
        self.store.consume(config, token, &[]);
        self.next_commit += 1;
        self.store.view = turn.after;
        for work in std::mem::take(&mut self.store.work) {
            // Cancelled with its instance: no result is expected.
            self.store.scheduled[usize::from(work.activity)] -= 1;
        }
    }

    fn operator_release(&mut self) {
        let Some((token, _)) = self.operator.take() else { return };
        self.release(token);
    }

    fn restore(&mut self) {
        self.left.restores -= 1;
        if let Some(backup) = self.backup.take() {
            self.store = *backup;
        }
    }
}

/// The lease that a commit plans for an activity.
#[derive(Debug, Clone, Copy)]
struct PlannedLease {
    activity: u8,
    token: u8,
}
