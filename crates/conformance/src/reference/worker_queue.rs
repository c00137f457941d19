//! Activities: enqueueing, leasing, completing.

use std::time::Duration;

use duroxide_core::clock::millis;
use duroxide_core::providers::kit::{EncodedActivity, decode_activity, to_db};
use duroxide_core::providers::{
    FetchFilter, FetchedWork, LeaseHolders, LeasedWork, ProviderErrorKind, ScheduledActivity,
    ScheduledActivityIdentifier, SessionFetchConfig, TurnCommit, WorkItem, WorkSlot,
};

use super::orchestrator_queue::{self, NewMessage};
use super::refusal::Refusal;
use super::sessions;
use super::store::{Store, Work, WorkLock};
use super::turn_lock::Abandonment;

/// An activity in its stored form, and how long it may wait for a worker.
#[derive(Debug)]
pub(crate) struct NewWork {
    work: Work,
    start_limit: Option<u64>,
    /// The caller starts it at once, under a lease of this length.
    lease: Option<u64>,
}

impl NewWork {
    /// Encodes an activity. Nothing else goes to this queue.
    pub(crate) fn encode(item: &WorkItem) -> Result<Self, Refusal> {
        let activity = EncodedActivity::encode(item)?;
        let work = Work {
            instance: activity.instance.to_owned(),
            execution_id: activity.execution_id,
            activity_id: activity.activity_id,
            session: activity.session_id.map(str::to_owned),
            tag: activity.tag.map(str::to_owned),
            name: activity.name.to_owned(),
            text: activity.text,
            visible_at: 0,
            attempt_count: 0,
            vouched: 0,
            lock: None,
            enqueued_at: 0,
            start_by: None,
            starting: false,
            progress: None,
        };
        Ok(Self { work, start_limit: None, lease: None })
    }

    /// Encodes the activities of a commit, with their limits and leases.
    pub(crate) fn encode_all(commit: &TurnCommit) -> Result<Vec<Self>, Refusal> {
        let encode = |activity: &ScheduledActivity| {
            let new = Self::encode(&activity.item)?;
            // An activity of a session must be fetched, because only a fetch claims the session.
            let lease = activity.lease.filter(|_| new.work.session.is_none()).map(millis);
            Ok(Self { start_limit: activity.start_limit.map(millis), lease, ..new })
        };
        commit.activities.iter().map(encode).collect()
    }
}

impl Work {
    /// Whether this is the activity that a commit cancels.
    pub(crate) fn is(&self, activity: &ScheduledActivityIdentifier) -> bool {
        self.instance == activity.instance
            && self.execution_id == activity.execution_id
            && self.activity_id == activity.activity_id
    }

    pub(crate) fn identifier(&self) -> ScheduledActivityIdentifier {
        ScheduledActivityIdentifier {
            instance: self.instance.clone(),
            execution_id: self.execution_id,
            activity_id: self.activity_id,
        }
    }

    pub(crate) fn is_held_by(&self, token: &str) -> bool {
        self.lock.as_ref().is_some_and(|lock| lock.token == token)
    }

    pub(crate) fn is_leased(&self, now: u64) -> bool {
        self.lock.as_ref().is_some_and(|lock| now < lock.until)
    }
}

/// Adds an activity, visible at once.
pub(crate) fn insert(store: &mut Store, now: u64, new: NewWork) {
    let number = store.next_number();
    let start_by = new.start_limit.map(|limit| now.saturating_add(limit));
    store.work.insert(number, Work { enqueued_at: now, start_by, ..new.work });
}

/// Adds the activities of a commit; those with a lease are leased to the caller, as if it had just
/// fetched them.
pub(crate) fn insert_all(store: &mut Store, now: u64, work: Vec<NewWork>) -> Vec<LeasedWork> {
    let mut leased = Vec::new();
    for (index, mut new) in work.into_iter().enumerate() {
        if let Some(length) = new.lease {
            let (lock_token, until) = (store.new_token(), now.saturating_add(length));
            new.work.lock = Some(WorkLock { token: lock_token.clone(), until });
            new.work.attempt_count = 1;
            // The lease is its start: the limit is satisfied.
            new.start_limit = None;
            leased.push(LeasedWork::new(index, lock_token));
        }
        insert(store, now, new);
    }
    leased
}

/// The request of a worker.
pub(crate) struct WorkRequest<'a> {
    pub(crate) slots: &'a [WorkSlot],
    pub(crate) lock_for: u64,
    pub(crate) filter: &'a FetchFilter,
}

/// Leases the oldest eligible activity for each slot, in the order of the slots.
pub(crate) fn fetch_work(
    store: &mut Store,
    now: u64,
    request: &WorkRequest<'_>,
) -> Vec<FetchedWork> {
    let mut fetched = Vec::new();
    for (slot, wish) in request.slots.iter().enumerate() {
        let owner = wish.session.as_ref();
        let eligible = store.work.iter();
        let oldest = eligible
            .filter(|(_, work)| work.visible_at <= now && !work.is_leased(now))
            .filter(|(_, work)| request.filter.allows_activity(work.tag.as_deref(), &work.name))
            .find(|(_, work)| may_run(store, now, work, owner))
            .map(|(number, _)| *number);
        let Some(number) = oldest else { continue };
        let until = now.saturating_add(request.lock_for);
        fetched.extend(lease(store, now, number, until).map(|work| work.with_slot(slot)));
        claim(store, now, number, owner);
    }
    fetched
}

/// Whether a slot may run an activity. Any slot may run one without a session. One with a session
/// needs a slot with an owner, and no other owner may hold a live lease of the session.
fn may_run(store: &Store, now: u64, work: &Work, owner: Option<&SessionFetchConfig>) -> bool {
    let Some(session) = &work.session else { return true };
    owner.is_some_and(|owner| sessions::is_free_for(store, now, session, &owner.owner_id))
}

/// Leases one activity and counts the attempt. One that cannot be decoded gets a name that no
/// worker has registered, so that it fails and does not block later ones.
///
/// The lease counts as its start, unless the limit has expired.
pub(crate) fn lease(store: &mut Store, now: u64, number: u64, until: u64) -> Option<FetchedWork> {
    let token = store.new_token();
    let work = store.work.get_mut(&number)?;
    work.lock = Some(WorkLock { token: token.clone(), until });
    work.attempt_count += 1;
    work.count_start(now);
    let start_by = work.start_by.filter(|_| work.is_overdue(now));
    let item = decode_activity(to_db(number), work.text.clone(), Some(work.identifier()))?;
    Some(
        FetchedWork::new(item, token, work.attempt_count)
            .with_progress(work.progress.as_ref().map(|progress| progress.text.clone()))
            .with_overdue(
                start_by.map(|by| Duration::from_millis(by.saturating_sub(work.enqueued_at))),
            ),
    )
}

/// Leases the session of an activity to the owner that has just fetched it.
fn claim(store: &mut Store, now: u64, number: u64, owner: Option<&SessionFetchConfig>) {
    let session = store.work.get(&number).and_then(|work| work.session.clone());
    if let (Some(session), Some(owner)) = (session, owner) {
        sessions::claim(store, now, session, owner);
    }
}

/// Removes an activity under a live lease and enqueues its completion, both or neither.
///
/// The lease of its session is not checked: it decides which owner runs the next activity, not this
/// one.
pub(crate) fn finish(
    store: &mut Store,
    now: u64,
    token: &str,
    completion: Option<NewMessage>,
) -> Result<(), Refusal> {
    let number = require_live(store, now, token)?;
    let work = store.work.remove(&number);
    if let Some(session) = work.and_then(|work| work.session) {
        sessions::touch(store, now, &session);
    }
    if let Some(message) = completion {
        orchestrator_queue::insert(store, now, message, now);
    }
    Ok(())
}

/// Extends a live lease, counted from now. A refusal informs the worker that the activity was
/// cancelled or that another worker leased it.
pub(crate) fn renew(store: &mut Store, now: u64, token: &str, by: u64) -> Result<(), Refusal> {
    let number = require_live(store, now, token)?;
    let work = store.work.get_mut(&number).ok_or_else(lost_lease)?;
    work.lock = Some(WorkLock { token: token.to_owned(), until: now.saturating_add(by) });
    if let Some(session) = work.session.clone() {
        sessions::touch(store, now, &session);
    }
    Ok(())
}

/// Extends a lease, counted from now, also an expired one: the token is gone once another worker
/// has leased the activity. Its session is in use again, unless another owner has claimed that.
pub(crate) fn reclaim(store: &mut Store, now: u64, token: &str, by: u64) -> Result<(), Refusal> {
    let held = store.work.values_mut().find(|work| work.is_held_by(token));
    let work = held.ok_or_else(lost_lease)?;
    let until = now.saturating_add(by);
    work.lock = Some(WorkLock { token: token.to_owned(), until });
    if let Some(session) = work.session.clone() {
        sessions::reclaim(store, now, &session, until);
    }
    Ok(())
}

/// Extends the expired leases that live nodes of this process hold.
pub(crate) fn renew_held(store: &mut Store, now: u64, holders: &LeaseHolders, by: u64) {
    let locks = store.work.values().filter_map(|work| work.lock.as_ref());
    let expired = locks.filter(|lock| lock.until <= now && holders.hold(&lock.token));
    for token in expired.map(|lock| lock.token.clone()).collect::<Vec<_>>() {
        // It is held, so that nothing can refuse it.
        drop(reclaim(store, now, &token, by));
    }
}

/// The number of an activity whose lease is live.
pub(crate) fn require_live(store: &Store, now: u64, token: &str) -> Result<u64, Refusal> {
    let held = store.work.iter().find(|(_, work)| work.is_held_by(token) && work.is_leased(now));
    held.map(|(number, _)| *number).ok_or_else(lost_lease)
}

/// Abandons an activity. Its lease may have expired, as long as no other worker has leased it.
pub(crate) fn abandon(
    store: &mut Store,
    now: u64,
    token: &str,
    how: Abandonment,
) -> Result<(), Refusal> {
    let held = store.work.values_mut().find(|work| work.is_held_by(token));
    let work = held.ok_or_else(lost_lease)?;
    work.lock = None;
    work.satisfy_limit();
    if let Some(delay) = how.delay {
        work.visible_at = now.saturating_add(delay);
    }
    if how.ignore_attempt {
        work.attempt_count = work.attempt_count.saturating_sub(1);
    }
    Ok(())
}

/// Returns an activity whose handler was not called: the lease does not count as a start.
pub(crate) fn return_unstarted(
    store: &mut Store,
    now: u64,
    token: &str,
    how: Abandonment,
) -> Result<(), Refusal> {
    if let Some(work) = store.work.values_mut().find(|work| work.is_held_by(token)) {
        work.starting = false;
    }
    abandon(store, now, token, how)
}

/// Which of the tokens no longer hold an activity.
pub(crate) fn find_lost(store: &Store, tokens: &[String]) -> Vec<String> {
    let held = |token: &&String| store.work.values().any(|work| work.is_held_by(token));
    tokens.iter().filter(|token| !held(token)).cloned().collect()
}

pub(crate) fn lost_lease() -> Refusal {
    Refusal::new(
        ProviderErrorKind::LostLease,
        "Invalid lock token: the work item is gone or its lease has run out",
    )
}

/// The next time at which an activity becomes visible, or a lease on one or on a session expires.
pub(crate) fn next_due(store: &Store, now: u64) -> Option<u64> {
    let visible = store.work.values().map(|work| work.visible_at);
    let expired = store.work.values().filter_map(|work| Some(work.lock.as_ref()?.until));
    let sessions = store.sessions.values().map(|session| session.until);
    visible.chain(expired).chain(sessions).filter(|due| *due > now).min()
}
