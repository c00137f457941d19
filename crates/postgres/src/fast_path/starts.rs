//! Instances that are stored together with their first turn.
//!
//! A start that comes while this node fetches turns is handed to a fetch before anything of it is
//! stored. The commit of that turn stores the instance, and only then is the caller told that it is
//! started: one transaction instead of a message, a lease and a commit. Whoever does not commit
//! soon, gives the turn back or wants a longer lease makes the start a message like any other.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use duroxide_core::providers::WorkItem;
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::{Instant, timeout};
use uuid::Uuid;

use crate::commit::encoded::EncodedCommit;
use crate::fetch::lease_token::TurnToken;
use crate::fetch::turns::{RawTurn, TurnRequest};
use crate::limits;
use crate::queues::orchestrator_queue::{DelayedMessage, NewMessage, TurnLease};
use crate::write::group::Work;
use crate::write::writer::{Answer, Writer};

/// Starts of this node that are not stored.
#[derive(Debug, Default)]
pub(crate) struct Starts {
    inner: Mutex<Inner>,
    offered: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    /// Fetches under way, and when the last one ended: whoever fetches comes back.
    fetches: usize,
    fetched: Option<Instant>,
    /// Not handed out yet, the oldest first. Some of them may be gone.
    waiting: VecDeque<Uuid>,
    starts: HashMap<Uuid, Start>,
    /// Hashes of instances that were offered. Whoever starts one again would run its code for
    /// nothing.
    seen: HashSet<u64>,
}

#[derive(Debug)]
struct Start {
    message: NewMessage,
    stage: Stage,
    /// Told that the start is to be stored now, or dropped with it.
    verdict: Option<oneshot::Sender<Verdict>>,
    /// Dropped with the start, which whoever waits for that sees.
    gone: watch::Sender<()>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Waiting,
    /// A turn of somebody who asked for a lease of this length.
    HandedOut {
        lock_for: i64,
    },
    /// The turn is being committed.
    Committing,
    /// About to be a message, under the lease of the turn.
    Storing,
}

/// What the caller of a start is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Committed,
    /// Somebody who has the turn needs its lease.
    StoreNow,
}

impl Inner {
    /// Whether somebody takes one more start.
    fn is_open(&self) -> bool {
        let returns = |ended: Instant| ended.elapsed() < limits::FETCH_RETURNS_WITHIN;
        let somebody = self.fetches > 0 || self.fetched.is_some_and(returns);
        somebody && self.starts.len() < limits::STARTS_OFFERED_MAX
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

    /// From now on until this is dropped, somebody fetches turns.
    pub(crate) fn fetching(&self) -> Fetching<'_> {
        self.lock().fetches += 1;
        Fetching(self)
    }

    /// Hands out first turns, if there are starts.
    pub(crate) fn take(&self, turns_max: usize, request: &TurnRequest) -> Vec<RawTurn> {
        let mut turns = Vec::new();
        let mut inner = self.lock();
        while turns.len() < turns_max {
            let Some(id) = inner.waiting.pop_front() else { break };
            let Some(start) = inner.starts.get_mut(&id) else { continue };
            start.stage = Stage::HandedOut { lock_for: request.lock_for };
            let instance = start.message.instance.clone();
            let messages = vec![(0, start.message.text.clone())];
            turns.push(RawTurn::first(TurnToken { id, instance }, messages));
        }
        if !inner.waiting.is_empty() {
            self.offered.notify_one();
        }
        turns
    }

    /// Ends when there may be a start to take.
    pub(crate) async fn arrived(&self) {
        self.offered.notified().await;
    }

    fn offer(self: &Arc<Self>, message: &NewMessage) -> Option<Offer> {
        let mut inner = self.lock();
        if !inner.is_open() || !inner.is_new(&message.instance) {
            return None;
        }
        let id = Uuid::new_v4();
        let (verdict, told) = oneshot::channel();
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
        Some(Offer { starts: Arc::clone(self), id, told })
    }

    /// Ends when no other start of this instance is under way: it would not be the first any more.
    async fn others(&self, instance: &str) {
        let is_same = |start: &&Start| start.message.instance == instance;
        let gone = self.lock().starts.values().find(is_same).map(|start| start.gone.subscribe());
        until_dropped(gone).await;
    }

    /// The start that a turn is the first of, if it is not stored: whoever has this commits it.
    async fn board(self: &Arc<Self>, id: Uuid) -> Option<PendingStart> {
        loop {
            let gone = {
                let mut inner = self.lock();
                let start = inner.starts.get_mut(&id)?;
                // Without a verdict to give, the start is about to be stored.
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

    /// Ends when the start that a turn is the first of is stored, or will never be.
    pub(crate) async fn settled(&self, id: Uuid) {
        let gone = self.lock().starts.get_mut(&id).map(|start| {
            if let Some(verdict) = start.verdict.take_if(|_| start.stage != Stage::Committing) {
                // Nobody to be told is storing it already.
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

impl Drop for Fetching<'_> {
    fn drop(&mut self) {
        let mut inner = self.0.lock();
        inner.fetches = inner.fetches.saturating_sub(1);
        inner.fetched = Some(Instant::now());
    }
}

/// A start that is being committed with its first turn or stored as a message, until that ends.
/// Whoever has its turn waits for the end.
#[derive(Debug)]
pub(crate) struct PendingStart {
    starts: Arc<Starts>,
    id: Uuid,
}

impl PendingStart {
    /// The commit of the first turn has stored it. Otherwise the caller hears that it has not.
    fn committed(self) {
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

/// A start until its caller is answered.
struct Offer {
    starts: Arc<Starts>,
    id: Uuid,
    told: oneshot::Receiver<Verdict>,
}

/// How a start is to be stored that no turn has stored.
enum Late {
    Message,
    UnderLease(TurnLease),
}

impl Offer {
    /// Waits until the first turn is committed.
    async fn committed(&mut self) -> Result<(), Late> {
        let Ok(told) = timeout(limits::FIRST_TURN_WAIT_MAX, &mut self.told).await else {
            return match self.stop_waiting() {
                Some(late) => Err(late),
                // It is being committed, or has just been.
                None => judge((&mut self.told).await),
            };
        };
        match told {
            Ok(Verdict::StoreNow) => Err(self.stop_waiting().unwrap_or(Late::Message)),
            told => judge(told),
        }
    }

    /// How the start is to be stored now; `None` if somebody commits it.
    fn stop_waiting(&self) -> Option<Late> {
        let mut inner = self.starts.lock();
        let start = inner.starts.get_mut(&self.id)?;
        match start.stage {
            Stage::Committing | Stage::Storing => None,
            Stage::Waiting => {
                inner.starts.remove(&self.id);
                Some(Late::Message)
            }
            Stage::HandedOut { lock_for } => {
                start.stage = Stage::Storing;
                let _storing = PendingStart { starts: Arc::clone(&self.starts), id: self.id };
                Some(Late::UnderLease(TurnLease { token: self.id, lock_for, _storing }))
            }
        }
    }
}

fn judge(told: Result<Verdict, oneshot::error::RecvError>) -> Result<(), Late> {
    match told {
        Ok(Verdict::Committed) => Ok(()),
        Ok(Verdict::StoreNow) | Err(_) => Err(Late::Message),
    }
}

impl Drop for Offer {
    fn drop(&mut self) {
        let mut inner = self.starts.lock();
        let is_ours =
            |start: &Start| matches!(start.stage, Stage::Waiting | Stage::HandedOut { .. });
        // Somebody else ends what is being committed or stored.
        if inner.starts.get(&self.id).is_some_and(is_ours) {
            inner.starts.remove(&self.id);
        }
    }
}

/// Commits a fetched turn, together with its instance if that is not stored.
pub(crate) async fn commit(
    starts: &Arc<Starts>,
    writer: &Writer,
    mut turn: EncodedCommit,
) -> Answer {
    let boarded = if turn.metadata.name.is_some() {
        starts.board(turn.token.id).await
    } else {
        // Nothing can be stored that nobody can name.
        starts.settled(turn.token.id).await;
        None
    };
    turn.is_first = boarded.is_some();
    let answer = writer.run(Work::Commit(Box::new(turn))).await;
    if let (Ok(_), Some(boarded)) = (&answer, boarded) {
        boarded.committed();
    }
    answer
}

/// Adds a message. What starts an instance goes to somebody who fetches, if there is one.
pub(crate) async fn enqueue(
    starts: &Arc<Starts>,
    writer: &Writer,
    item: &WorkItem,
    delay: i64,
) -> Answer {
    let message = NewMessage::encode_message(item)?;
    let at_once = delay == 0 && matches!(item, WorkItem::StartOrchestration { .. });
    if at_once {
        starts.others(&message.instance).await;
    }
    let offer = if at_once { starts.offer(&message) } else { None };
    let lease = match offer {
        Some(mut offer) => match offer.committed().await {
            Ok(()) => return Ok(None),
            Err(Late::Message) => None,
            Err(Late::UnderLease(lease)) => Some(lease),
        },
        None => None,
    };
    writer.run(Work::Message(DelayedMessage { message, delay, lease })).await
}
