//! Applies one step to one provider. Leases are kept in fetch order, so that a step can name the
//! same lease on both sides without its token.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use duroxide_core::providers::{
    ClientMessage, CommittedTurn, DirectTurn, FetchFilter, FetchedTurn, FetchedWork, HistoryMark,
    KnownHistory, Provider, ProviderAdmin, PruneOptions, SessionFetchConfig, TurnCommit, TurnFetch,
    WorkFetch, WorkSlot,
};

use crate::as_text::{self, text};
use crate::build::{self, Position};
use crate::op::{Known, MESSAGE_IDS, Mark, OWNERS, Op, Turn};

const NOW: Duration = Duration::ZERO;
pub(crate) const HOLD: Duration = Duration::from_secs(60);
const SESSION_LEASE: Duration = Duration::from_millis(3000);
const NO_TOKEN: &str = "never issued";

pub(crate) struct Side {
    pub(crate) provider: Arc<dyn Provider>,
    turns: Vec<HeldTurn>,
    work: Vec<String>,
    marks: Vec<(String, HistoryMark)>,
    /// The number of commits, which names them.
    commits: u64,
}

#[derive(Debug, Clone)]
struct HeldTurn {
    token: String,
    instance: String,
    execution_id: u64,
    next_event: u64,
}

impl HeldTurn {
    fn new(turn: &FetchedTurn) -> Self {
        let last = turn.item.history.last().map_or(turn.history_after, |event| event.event_id);
        Self {
            token: turn.lock_token.clone(),
            instance: turn.item.instance.clone(),
            execution_id: turn.item.execution_id,
            next_event: last + 1,
        }
    }

    fn never() -> Self {
        let (token, instance) = (NO_TOKEN.to_owned(), build::name(0));
        Self { token, instance, execution_id: 1, next_event: 1 }
    }
}

struct Marks(HashMap<String, HistoryMark>);

impl KnownHistory for Marks {
    fn mark(&self, instance: &str) -> Option<HistoryMark> {
        self.0.get(instance).copied()
    }
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn session(owner: Option<usize>) -> Option<SessionFetchConfig> {
    let owner_id = OWNERS[owner?].to_owned();
    Some(SessionFetchConfig { owner_id, lock_timeout: SESSION_LEASE })
}

impl Side {
    pub(crate) fn new(provider: Arc<dyn Provider>) -> Self {
        Self { provider, turns: Vec::new(), work: Vec::new(), marks: Vec::new(), commits: 0 }
    }

    pub(crate) fn admin(&self) -> &dyn ProviderAdmin {
        self.provider.as_management_capability().expect("both providers have a management side")
    }

    fn turn(&self, back: usize) -> HeldTurn {
        self.turns.iter().rev().nth(back).cloned().unwrap_or_else(HeldTurn::never)
    }

    fn work(&self, back: usize) -> &str {
        self.work.iter().rev().nth(back).map_or(NO_TOKEN, String::as_str)
    }

    /// Applies one step and returns the result as text.
    pub(crate) async fn apply(&mut self, step: &Op, now: u64) -> String {
        match step {
            Op::Send { .. }
            | Op::Deliver { .. }
            | Op::FetchTurn { .. }
            | Op::FetchTurns { .. }
            | Op::Commit { .. }
            | Op::CommitDirect { .. }
            | Op::AbandonTurn { .. }
            | Op::RenewTurn { .. }
            | Op::ReclaimTurn { .. }
            | Op::MarkTurn { .. } => self.apply_to_turns(step, now).await,
            Op::SuspendTurn(_)
            | Op::SuspendInstance(_)
            | Op::ResumeInstance(_)
            | Op::RetrySuspended => self.apply_suspension(step, now).await,
            Op::Hold(id, turn) => self.hold(build::name(*id), turn.as_ref(), now).await,
            Op::Move(id) => self.move_instance(&build::name(*id)).await,
            Op::Reopen(id, turn, ending) => {
                self.reopen(build::name(*id), turn, ending.as_ref(), now).await
            }
            Op::Seed { .. }
            | Op::Delete { .. }
            | Op::DeleteListed { .. }
            | Op::DeleteBulk(_)
            | Op::Prune { .. }
            | Op::PruneBulk { .. } => self.apply_to_store(step, now).await,
            _step_of_a_worker => self.apply_to_work(step, now).await,
        }
    }

    async fn apply_suspension(&self, step: &Op, now: u64) -> String {
        let admin = self.provider.as_management_capability().expect("a management side");
        // The reason names the step, so that one that survives another is seen.
        let reason = format!("at {now}");
        match step {
            Op::SuspendTurn(back) => {
                text(self.provider.suspend_turn(&self.turn(*back).token, &reason).await)
            }
            Op::SuspendInstance(id) => {
                text(admin.suspend_instance(&build::name(*id), &reason).await)
            }
            Op::ResumeInstance(id) => text(admin.resume_instance(&build::name(*id)).await),
            Op::RetrySuspended => text(self.provider.retry_suspended().await),
            other => unreachable!("{other:?} is not a step of a suspension"),
        }
    }

    /// Holds an instance, commits a turn or releases it, and discards what came too late.
    async fn hold(&mut self, instance: String, turn: Option<&Turn>, now: u64) -> String {
        let mut held = match self.admin().hold_instance(&instance, HOLD).await {
            Ok(held) => held,
            Err(error) => return text::<()>(Err(error)),
        };
        let (token, id) = (std::mem::take(&mut held.lock_token), instance.clone());
        let (execution_id, next_event) = (held.execution_id, held.last_event_id + 1);
        let mut committed = None;
        if let Some(turn) = turn {
            let token = token.clone();
            self.turns.push(HeldTurn { token, instance, execution_id, next_event });
            committed = Some(self.commit(0, turn, false, now).await);
            self.turns.pop();
        }
        // After a commit, nothing is left to be released.
        let released = self.provider.abandon_orchestration_item(&token, None, true).await;
        let discarded = self.admin().discard_late_messages(&id).await;
        format!("{held:?} {committed:?} {} {}", text(released), text(discarded))
    }

    async fn apply_to_turns(&mut self, step: &Op, now: u64) -> String {
        match step {
            Op::Send { message, delay } => {
                let item = build::message(message, now);
                text(self.provider.enqueue_for_orchestrator(item, delay.map(ms)).await)
            }
            Op::Deliver { message, id, existing_only } => {
                let mut message = ClientMessage::new(build::message(message, now));
                message.id = id.map(|id| MESSAGE_IDS[id].to_owned());
                message.existing_only = *existing_only;
                text(self.provider.send_message(message).await)
            }
            Op::FetchTurn { lease, filter } => {
                let filter = build::filter(filter);
                let fetched =
                    self.provider.fetch_orchestration_item(ms(*lease), NOW, filter.as_ref()).await;
                let turns = fetched.map(|turn| {
                    turn.map(|(item, lock_token, attempt_count)| {
                        FetchedTurn::new(item, lock_token, attempt_count)
                    })
                    .into_iter()
                    .collect()
                });
                text(turns.map(|turns| self.keep_turns(turns)))
            }
            Op::FetchTurns { turns_max, lease, filter, code, known } => {
                let filter = build::filter(filter);
                let mut filter = FetchFilter::from(filter.as_ref());
                filter.orchestrations = build::code(code);
                let mut request = TurnFetch::new(*turns_max, ms(*lease))
                    .with_poll_timeout(NOW)
                    .with_filter(&filter);
                request.known = self.known(known);
                let turns = self.provider.fetch_orchestration_items(request).await;
                text(turns.map(|turns| self.keep_turns(turns)))
            }
            Op::Commit { back, turn, plain_ack } => self.commit(*back, turn, *plain_ack, now).await,
            Op::CommitDirect { instance, mark, turn, finished } => {
                let (instance, mark) = self.mark(instance.map(build::name), mark).await;
                let tokens = finished.iter().map(|back| self.work(*back).to_owned()).collect();
                self.commit_direct(instance, mark, turn, tokens, now).await
            }
            Op::AbandonTurn { back, delay, ignore_attempt } => {
                let token = self.turn(*back).token;
                let delay = delay.map(ms);
                text(self.provider.abandon_orchestration_item(&token, delay, *ignore_attempt).await)
            }
            Op::RenewTurn { back, by } => {
                let token = self.turn(*back).token;
                text(self.provider.renew_orchestration_item_lock(&token, ms(*by)).await)
            }
            Op::ReclaimTurn { back, by } => {
                let token = self.turn(*back).token;
                text(self.provider.reclaim_orchestration_item_lock(&token, ms(*by)).await)
            }
            Op::MarkTurn { back, running } => {
                let token = self.turn(*back).token;
                text(self.provider.mark_turn_running(&token, *running).await)
            }
            other => unreachable!("{other:?} is not a step of a turn"),
        }
    }

    fn keep_turns(&mut self, turns: Vec<FetchedTurn>) -> Vec<String> {
        self.turns.extend(turns.iter().map(HeldTurn::new));
        turns.iter().map(as_text::turn).collect()
    }

    fn known(&self, known: &Known) -> Option<Arc<dyn KnownHistory>> {
        let marks: HashMap<_, _> = match known {
            Known::Nothing => return None,
            Known::Newest => self.marks.iter().cloned().collect(),
            Known::Oldest => self.marks.iter().rev().cloned().collect(),
        };
        Some(Arc::new(Marks(marks)))
    }

    async fn commit(&mut self, back: usize, turn: &Turn, plain_ack: bool, now: u64) -> String {
        let held = self.turn(back);
        let at = Position {
            instance: &held.instance,
            execution_id: held.execution_id,
            first_event: held.next_event,
        };
        let commit_id = self.next_commit();
        let commit = build::commit(turn, at, now);
        let commit = commit.with_lock_token(held.token).with_commit_id(commit_id);
        if plain_ack {
            let messages = commit.messages().cloned().collect();
            let acked = self.provider.ack_orchestration_item(
                &commit.lock_token,
                commit.execution_id,
                commit.history_delta,
                commit.activities.into_iter().map(|activity| activity.item).collect(),
                messages,
                commit.metadata,
                commit.cancelled_activities,
            );
            return text(acked.await);
        }
        let commit = Arc::new(commit);
        let result = self.provider.commit_turn(Arc::clone(&commit)).await;
        text(result.map(|committed| self.keep_committed(&held.instance, &commit, committed)))
    }

    async fn commit_direct(
        &mut self,
        instance: String,
        mark: HistoryMark,
        turn: &Turn,
        finished_work: Vec<String>,
        now: u64,
    ) -> String {
        let at = Position {
            instance: &instance,
            execution_id: mark.execution_id,
            first_event: mark.event_id + 1,
        };
        let commit = build::commit(turn, at, now).with_commit_id(self.next_commit());
        let direct = Arc::new(
            DirectTurn::new(instance.clone(), mark, commit).with_finished_work(finished_work),
        );
        let result = self.provider.commit_direct_turn(Arc::clone(&direct)).await;
        text(result.map(|committed| {
            committed.map(|it| self.keep_committed(&instance, &direct.commit, it))
        }))
    }

    /// The instance and mark of a direct turn. The default instance is that of the last commit.
    async fn mark(&self, instance: Option<String>, mark: &Mark) -> (String, HistoryMark) {
        let last = self.marks.last().map(|(instance, _)| instance.clone());
        let instance = instance.or(last).unwrap_or_else(|| build::name(0));
        let seen: Vec<_> =
            self.marks.iter().rev().filter(|(of, _)| *of == instance).map(|(_, it)| *it).collect();
        let nothing = HistoryMark::new(1).with_execution_id(1).with_event_id(0);
        let newest = match seen.first() {
            Some(seen) => self.end_of(&instance, *seen).await,
            None => nothing,
        };
        let mark = match mark {
            Mark::Newest => newest,
            Mark::Older(back) => seen.get(*back).copied().unwrap_or(nothing),
            Mark::Beyond => newest.with_event_id(newest.event_id + 1),
            Mark::OtherExecution => newest.with_execution_id(newest.execution_id + 1),
            Mark::OtherIncarnation => newest.with_incarnation(newest.incarnation ^ 1),
            Mark::OtherCommit => newest.with_commit_id(Some(u64::MAX >> 1)),
        };
        (instance, mark)
    }

    /// The end of the stored history, under the last seen incarnation.
    async fn end_of(&self, instance: &str, seen: HistoryMark) -> HistoryMark {
        let execution_id = self.admin().latest_execution_id(instance).await;
        let events = self.provider.read(instance).await.unwrap_or_default();
        let end = HistoryMark::new(seen.incarnation)
            .with_execution_id(execution_id.unwrap_or(1))
            .with_event_id(events.last().map_or(0, |event| event.event_id));
        let is_seen = end == seen.with_commit_id(None);
        end.with_commit_id(seen.commit_id.filter(|_| is_seen))
    }

    fn next_commit(&mut self) -> Option<u64> {
        self.commits += 1;
        Some(self.commits)
    }

    fn keep_committed(
        &mut self,
        instance: &str,
        commit: &TurnCommit,
        committed: CommittedTurn,
    ) -> (bool, Vec<usize>) {
        self.work.extend(committed.leased.iter().map(|work| work.lock_token.clone()));
        if let Some(incarnation) = committed.incarnation {
            let last = commit.history_delta.last();
            let mark = HistoryMark::new(incarnation)
                .with_execution_id(commit.execution_id)
                .with_event_id(last.map_or(0, |event| event.event_id))
                .with_commit_id(commit.commit_id.filter(|_| last.is_some()));
            self.marks.push((instance.to_owned(), mark));
        }
        let leased = committed.leased.iter().map(|work| work.index).collect();
        (committed.incarnation.is_some(), leased)
    }

    async fn apply_to_work(&mut self, step: &Op, now: u64) -> String {
        match step {
            Op::Schedule(wanted) => {
                text(self.provider.enqueue_for_worker(build::activity(wanted)).await)
            }
            Op::ScheduleWrongKind(message) => {
                text(self.provider.enqueue_for_worker(build::message(message, now)).await)
            }
            Op::FetchWork { lease, owner, tags } => {
                let (session, tags) = (session(*owner), build::tags(tags));
                let fetched =
                    self.provider.fetch_work_item(ms(*lease), NOW, session.as_ref(), &tags).await;
                let work = fetched.map(|work| {
                    work.map(|(item, lock_token, attempt_count)| {
                        FetchedWork::new(item, lock_token, attempt_count)
                    })
                    .into_iter()
                    .collect()
                });
                text(work.map(|work| self.keep_work(work)))
            }
            Op::FetchWorks { lease, owners, tags, handlers } => {
                let slots: Vec<_> =
                    owners.iter().map(|owner| WorkSlot::new(session(*owner))).collect();
                let mut filter = FetchFilter::from(&build::tags(tags));
                filter.activities = build::handlers(handlers);
                let request =
                    WorkFetch::new(&slots, ms(*lease)).with_poll_timeout(NOW).with_filter(&filter);
                let work = self.provider.fetch_work_items(request).await;
                text(work.map(|work| self.keep_work(work)))
            }
            Op::FinishWork { back, completion } => {
                let completion = completion.as_ref().map(|it| build::message(it, now));
                text(self.provider.ack_work_item(self.work(*back), completion).await)
            }
            Op::AbandonWork { back, delay, ignore_attempt } => {
                let (token, delay) = (self.work(*back), delay.map(ms));
                text(self.provider.abandon_work_item(token, delay, *ignore_attempt).await)
            }
            Op::RenewWork { back, by } => {
                text(self.provider.renew_work_item_lock(self.work(*back), ms(*by)).await)
            }
            Op::ReclaimWork { back, by } => {
                text(self.provider.reclaim_work_item_lock(self.work(*back), ms(*by)).await)
            }
            Op::VouchForWork { back, leases } => {
                text(self.provider.vouch_for_work_item(self.work(*back), *leases).await)
            }
            Op::RenewSessions { owners, by, idle } => {
                let owners: Vec<_> = owners.iter().map(|owner| OWNERS[*owner]).collect();
                text(self.provider.renew_session_lock(&owners, ms(*by), ms(*idle)).await)
            }
            Op::CleanUpSessions => text(self.provider.cleanup_orphaned_sessions(NOW).await),
            other => unreachable!("{other:?} is not a step of a worker"),
        }
    }

    fn keep_work(&mut self, work: Vec<FetchedWork>) -> Vec<String> {
        self.work.extend(work.iter().map(|work| work.lock_token.clone()));
        work.iter().map(as_text::work).collect()
    }

    async fn apply_to_store(&mut self, step: &Op, now: u64) -> String {
        match step {
            Op::Seed { instance, execution_id, first_event, events } => {
                let (instance, execution_id) = (build::name(*instance), *execution_id);
                let at = Position { instance: &instance, execution_id, first_event: *first_event };
                let events = build::events(events, at);
                text(self.provider.append_with_execution(&instance, execution_id, events).await)
            }
            Op::Delete { instance, force } => {
                text(self.admin().delete_instance(&build::name(*instance), *force).await)
            }
            Op::DeleteListed { instances, force } => {
                let ids: Vec<_> = instances.iter().map(|id| build::name(*id)).collect();
                text(self.admin().delete_instances_atomic(&ids, *force).await)
            }
            Op::DeleteBulk(selection) => {
                let filter = build::selection(selection, now);
                text(self.admin().delete_instance_bulk(filter).await)
            }
            Op::Prune { instance, keep_last, before } => {
                let options = prune_options(*keep_last, *before, now);
                text(self.admin().prune_executions(&build::name(*instance), options).await)
            }
            Op::PruneBulk { selection, keep_last, before } => {
                let filter = build::selection(selection, now);
                let options = prune_options(*keep_last, *before, now);
                text(self.admin().prune_executions_bulk(filter, options).await)
            }
            other => unreachable!("{other:?} is not a step of the store"),
        }
    }
}

fn prune_options(keep_last: Option<u32>, before: Option<u64>, now: u64) -> PruneOptions {
    PruneOptions { keep_last, completed_before: before.map(|before| now - before) }
}
