//! Instances that are stored together with their first turn.
//!
//! A start that comes while this node fetches turns goes to a fetch before anything of it is
//! stored. The commit of that turn stores the instance: one transaction instead of a message, a
//! lease and a commit. When a start is durable:
//!
//! 1. The caller of a start gets a response only when the start is durable: by the commit of its
//!    first turn (`t_first` in `commit_turns.sql`), or as a message (`enqueue_messages.sql`).
//! 2. Either the commit or the caller stores a start, never both: a start moves from `Waiting`
//!    over `Claimed` to `Committing` or to `Storing`, under one lock.
//! 3. The caller stores it as a message if no fetch claims it, if its turn is not committed within
//!    [`FIRST_TURN_WAIT_MAX`](limits::FIRST_TURN_WAIT_MAX), or if the turn's holder needs a lease
//!    in the database: to renew it, to abandon it, or to commit a turn without a name.
//! 4. A claimed start becomes a message under the lease of its turn (`lease_first_turns.sql`), so
//!    that its holder can continue.
//! 5. A commit of a first turn proves, under the lock of the instance, that nothing of it is
//!    stored. If it cannot, the commit is refused, and the caller stores the start as a message
//!    (1).
//! 6. While a start is being committed or stored, later starts of the same instance wait.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use duroxide_core::providers::FetchFilter;
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::{Instant, timeout};
use uuid::Uuid;

use crate::fetch::lease_token::TurnToken;
use crate::fetch::turns::RawTurn;
use crate::limits;
use crate::queues::orchestrator_queue::{NewMessage, TurnLease};

/// Starts of this node that are not stored.
#[derive(Debug, Default)]
pub(crate) struct Starts {
    inner: Mutex<Inner>,
    offered: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    /// Fetches under way, and when the last one returned: a dispatcher fetches again.
    fetches: usize,
    fetched_at: Option<Instant>,
    /// Unclaimed starts, the oldest first. Some of them may be gone.
    waiting: VecDeque<Uuid>,
    starts: HashMap<Uuid, Start>,
    /// Hashes of offered instances. A second start of one would run its code in vain.
    seen: HashSet<u64>,
}

#[derive(Debug)]
struct Start {
    message: NewMessage,
    stage: Stage,
    /// Sends the verdict to the caller; the caller stores the start if it is dropped.
    verdict: Option<oneshot::Sender<Verdict>>,
    /// Dropped with the start, which its subscribers observe.
    gone: watch::Sender<()>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Waiting,
    /// A dispatcher runs the turn and asked for a lease of this length.
    Claimed {
        lock_for: i64,
    },
    /// The turn is being committed.
    Committing,
    /// The caller stores it as a message, under the lease of the turn.
    Storing,
}

/// What the caller of a start learns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Committed,
    /// The holder of the turn needs its lease.
    StoreNow,
}

impl Inner {
    /// Whether a fetch will claim one more start.
    fn is_open(&self) -> bool {
        let returns = |ended: Instant| ended.elapsed() < limits::FETCH_RETURNS_WITHIN;
        let fetches = self.fetches > 0 || self.fetched_at.is_some_and(returns);
        fetches && self.starts.len() < limits::STARTS_OFFERED_MAX
    }

    /// Remembers an instance; false if it was offered before.
    fn is_new(&mut self, instance: &str) -> bool {
        if self.seen.len() >= limits::STARTS_SEEN_MAX {
            self.seen.clear();
        }
        let mut hasher = DefaultHasher::new();
        instance.hash(&mut hasher);
        self.seen.insert(hasher.finish())
    }
}

impl Starts {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remove(&self, id: Uuid) -> Option<Start> {
        self.lock().starts.remove(&id)
    }

    /// A fetch of turns is under way until the guard is dropped.
    pub(crate) fn fetching(&self) -> Fetching<'_> {
        self.lock().fetches += 1;
        Fetching(self)
    }

    /// Claims starts as first turns. The caller of one that the node cannot run stores it, for
    /// other nodes.
    pub(crate) fn claim(
        &self,
        turns_max: usize,
        lock_for: i64,
        filter: &FetchFilter,
    ) -> Vec<RawTurn> {
        let mut turns = Vec::new();
        let mut inner = self.lock();
        while turns.len() < turns_max {
            let Some(id) = inner.waiting.pop_front() else { break };
            let Some(start) = inner.starts.get_mut(&id) else { continue };
            if !filter.allows_code(start.message.code.as_ref()) {
                if let Some(verdict) = start.verdict.take() {
                    verdict.send(Verdict::StoreNow).unwrap_or_default();
                }
                continue;
            }
            start.stage = Stage::Claimed { lock_for };
            let instance = start.message.instance.clone();
            let messages = vec![(0, start.message.text.clone())];
            turns.push(RawTurn::first(TurnToken { id, instance }, messages));
        }
        if !inner.waiting.is_empty() {
            self.offered.notify_one();
        }
        turns
    }

    /// Offers a start to fetches; `None` if the caller must store it.
    pub(crate) fn offer(self: &Arc<Self>, message: &NewMessage) -> Option<Offer> {
        let mut inner = self.lock();
        if !inner.is_open() || !inner.is_new(&message.instance) {
            return None;
        }
        let id = Uuid::new_v4();
        let (verdict, receiver) = oneshot::channel();
        let start = Start {
            message: message.clone(),
            stage: Stage::Waiting,
            verdict: Some(verdict),
            gone: watch::Sender::default(),
        };
        inner.starts.insert(id, start);
        inner.waiting.push_back(id);
        drop(inner);
        self.offered.notify_one();
        Some(Offer { starts: Arc::clone(self), id, verdict: receiver })
    }

    /// Returns when no other start of this instance is under way: a later one is not the first.
    pub(crate) async fn wait_for_other_starts(&self, instance: &str) {
        let is_same = |start: &&Start| start.message.instance == instance;
        let gone = self.lock().starts.values().find(is_same).map(|start| start.gone.subscribe());
        until_dropped(gone).await;
    }

    /// The start that a turn is the first of, if it is not stored. The commit of the turn must then
    /// store it.
    pub(crate) async fn join_commit(self: &Arc<Self>, id: Uuid) -> Option<PendingStart> {
        loop {
            let gone = {
                let mut inner = self.lock();
                let start = inner.starts.get_mut(&id)?;
                // Without a verdict to send, the caller is about to store the start.
                if start.stage != Stage::Storing && start.verdict.is_some() {
                    start.stage = Stage::Committing;
                    return Some(PendingStart { starts: Arc::clone(self), id });
                }
                start.gone.subscribe()
            };
            until_dropped(Some(gone)).await;
        }
    }

    /// Whether a first turn is being committed together with its start.
    pub(crate) fn is_committing(&self, id: Uuid) -> bool {
        self.lock().starts.get(&id).is_some_and(|start| start.stage == Stage::Committing)
    }

    /// Makes the caller store the start that a turn is the first of. Returns when it is stored, or
    /// will never be.
    pub(crate) async fn wait_until_stored(&self, id: Uuid) {
        let gone = self.lock().starts.get_mut(&id).map(|start| {
            if let Some(verdict) = start.verdict.take_if(|_| start.stage != Stage::Committing) {
                // A caller that no longer waits is storing it already.
                verdict.send(Verdict::StoreNow).unwrap_or_default();
            }
            start.gone.subscribe()
        });
        until_dropped(gone).await;
    }
}

async fn until_dropped(gone: Option<watch::Receiver<()>>) {
    let Some(mut gone) = gone else { return };
    while gone.changed().await.is_ok() {}
}

/// A fetch of turns that is under way.
#[derive(Debug)]
pub(crate) struct Fetching<'a>(&'a Starts);

impl Fetching<'_> {
    pub(crate) fn starts(&self) -> &Starts {
        self.0
    }

    /// Returns when there may be a start to claim.
    pub(crate) async fn start_arrived(&self) {
        self.0.offered.notified().await;
    }
}

impl Drop for Fetching<'_> {
    fn drop(&mut self) {
        let mut inner = self.0.lock();
        inner.fetches = inner.fetches.saturating_sub(1);
        inner.fetched_at = Some(Instant::now());
    }
}

/// A start that is being committed with its first turn or stored as a message, until that is done.
/// The holder of its turn waits for that.
#[derive(Debug)]
pub(crate) struct PendingStart {
    starts: Arc<Starts>,
    id: Uuid,
}

impl PendingStart {
    /// The commit of the first turn has stored it. If this is not called, the caller stores it.
    pub(crate) fn committed(self) {
        let start = self.starts.remove(self.id);
        if let Some(verdict) = start.and_then(|start| start.verdict) {
            // The caller may have gone away.
            verdict.send(Verdict::Committed).unwrap_or_default();
        }
    }
}

impl Drop for PendingStart {
    fn drop(&mut self) {
        self.starts.remove(self.id);
    }
}

/// A start until its caller gets a response.
pub(crate) struct Offer {
    starts: Arc<Starts>,
    id: Uuid,
    verdict: oneshot::Receiver<Verdict>,
}

/// How to store a start that no turn has stored.
pub(crate) enum Late {
    Message,
    UnderLease(TurnLease),
}

impl Offer {
    /// Waits until the first turn is committed.
    pub(crate) async fn committed(&mut self) -> Result<(), Late> {
        let Ok(verdict) = timeout(limits::FIRST_TURN_WAIT_MAX, &mut self.verdict).await else {
            return match self.stop_waiting() {
                Some(late) => Err(late),
                // It is being committed, or has just been.
                None => judge((&mut self.verdict).await),
            };
        };
        match verdict {
            Ok(Verdict::StoreNow) => Err(self.stop_waiting().unwrap_or(Late::Message)),
            verdict => judge(verdict),
        }
    }

    /// How to store the start now; `None` if a commit stores it.
    fn stop_waiting(&self) -> Option<Late> {
        let mut inner = self.starts.lock();
        let start = inner.starts.get_mut(&self.id)?;
        match start.stage {
            Stage::Committing | Stage::Storing => None,
            Stage::Waiting => {
                inner.starts.remove(&self.id);
                Some(Late::Message)
            }
            Stage::Claimed { lock_for } => {
                start.stage = Stage::Storing;
                let _storing = PendingStart { starts: Arc::clone(&self.starts), id: self.id };
                Some(Late::UnderLease(TurnLease { token: self.id, lock_for, _storing }))
            }
        }
    }
}

fn judge(verdict: Result<Verdict, oneshot::error::RecvError>) -> Result<(), Late> {
    match verdict {
        Ok(Verdict::Committed) => Ok(()),
        Ok(Verdict::StoreNow) | Err(_) => Err(Late::Message),
    }
}

impl Drop for Offer {
    fn drop(&mut self) {
        let mut inner = self.starts.lock();
        let is_ours = |start: &Start| matches!(start.stage, Stage::Waiting | Stage::Claimed { .. });
        // A `PendingStart` removes what is being committed or stored.
        if inner.starts.get(&self.id).is_some_and(is_ours) {
            inner.starts.remove(&self.id);
        }
    }
}
