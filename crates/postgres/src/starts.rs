//! Instances that are stored together with their first turn.
//!
//! A start that comes while this node fetches turns is handed to a fetch before anything of it is
//! stored. The commit of that turn stores the instance, and only then is the caller told that it is
//! started: one transaction instead of a message, a lease and a commit. Whoever does not commit
//! soon, gives the turn back or wants a longer lease makes the start a message like any other.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

use duroxide_core::providers::WorkItem;
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::{Instant, timeout};
use uuid::Uuid;

use crate::encoded_commit::EncodedCommit;
use crate::fetch::{RawTurn, TurnRequest};
use crate::group::Work;
use crate::limits;
use crate::orchestrator_queue::{DelayedMessage, LeasedStart, NewMessage};
use crate::token::TurnToken;
use crate::writer::{Answer, Writer};

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

#[derive(Debug)]
struct Start {
    message: NewMessage,
    stage: Stage,
    /// Told when the first turn is committed; dropped if it will not be.
    committed: oneshot::Sender<()>,
    /// Asks for the start to be stored now.
    hurry: Option<oneshot::Sender<()>>,
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
    /// About to be a message.
    Storing,
}

impl Starts {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on until this is dropped, somebody fetches turns.
    pub(crate) fn fetching(&self) -> Fetching<'_> {
        self.lock().fetches += 1;
        Fetching(self)
    }

    /// Hands out first turns, if there are starts.
    pub(crate) fn take(&self, turns_max: usize, request: &TurnRequest) -> Vec<RawTurn> {
        let mut turns = Vec::new();
        if turns_max == 0 || request.replays_nothing() {
            return turns;
        }
        let mut inner = self.lock();
        while turns.len() < turns_max {
            let Some(id) = inner.waiting.pop_front() else { break };
            let Some(start) = inner.starts.get_mut(&id) else { continue };
            if start.stage != Stage::Waiting {
                continue;
            }
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

    fn offer(&self, message: &NewMessage) -> Option<Offer<'_>> {
        let mut inner = self.lock();
        if !inner.is_open() || !inner.is_new(&message.instance) {
            return None;
        }
        let id = Uuid::new_v4();
        let (committed, on_commit) = oneshot::channel();
        let (hurry, on_hurry) = oneshot::channel();
        let start = Start {
            message: message.clone(),
            stage: Stage::Waiting,
            committed,
            hurry: Some(hurry),
            gone: watch::Sender::default(),
        };
        inner.starts.insert(id, start);
        inner.waiting.push_back(id);
        drop(inner);
        self.offered.notify_one();
        Some(Offer { starts: self, id, on_commit, on_hurry })
    }

    /// Ends when no other start of this instance is under way: it would not be the first any more.
    async fn others(&self, instance: &str) {
        let is_same = |start: &&Start| start.message.instance == instance;
        let gone = self.lock().starts.values().find(is_same).map(|start| start.gone.subscribe());
        if let Some(mut gone) = gone {
            let _told = gone.changed().await;
        }
    }

    /// The start that a turn is the first of, if it is not stored: whoever has this commits it.
    pub(crate) async fn board(&self, id: Uuid) -> Option<Boarded> {
        loop {
            let mut gone = {
                let mut inner = self.lock();
                let start = inner.starts.get(&id)?;
                if start.stage != Stage::Storing {
                    let start = inner.starts.remove(&id)?;
                    return Some(Boarded(start.committed));
                }
                start.gone.subscribe()
            };
            let _told = gone.changed().await;
        }
    }

    /// Ends when the start that a turn is the first of is stored.
    pub(crate) async fn stored(&self, id: Uuid) {
        let gone = {
            let mut inner = self.lock();
            inner.starts.get_mut(&id).map(|start| {
                start.hurry.take();
                start.gone.subscribe()
            })
        };
        if let Some(mut gone) = gone {
            let _told = gone.changed().await;
        }
    }
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

/// A start that is stored by the commit of its first turn. Dropped, it will not be.
#[derive(Debug)]
pub(crate) struct Boarded(oneshot::Sender<()>);

impl Boarded {
    /// The turn is committed.
    pub(crate) fn committed(self) {
        let _nobody_waits = self.0.send(());
    }
}

/// A start until its caller is answered.
struct Offer<'a> {
    starts: &'a Starts,
    id: Uuid,
    on_commit: oneshot::Receiver<()>,
    on_hurry: oneshot::Receiver<()>,
}

impl Offer<'_> {
    /// Waits until the first turn is committed. Otherwise it says how the start is to be stored.
    async fn outcome(&mut self) -> Result<(), Stage> {
        let soon = timeout(limits::FIRST_TURN_PATIENCE, async {
            tokio::select! {
                committed = &mut self.on_commit => committed.is_ok(),
                _ = &mut self.on_hurry => false,
            }
        });
        if soon.await == Ok(true) {
            return Ok(());
        }
        let stage = {
            let mut inner = self.starts.lock();
            let start = inner.starts.get_mut(&self.id);
            start.map(|start| std::mem::replace(&mut start.stage, Stage::Storing))
        };
        match stage {
            Some(stage) => Err(stage),
            // It is being committed.
            None => (&mut self.on_commit).await.map_err(|_| Stage::Waiting),
        }
    }
}

impl Drop for Offer<'_> {
    fn drop(&mut self) {
        self.starts.lock().starts.remove(&self.id);
    }
}

/// Commits a fetched turn, together with its instance if that is not stored.
pub(crate) async fn commit(starts: &Starts, writer: &Writer, mut turn: EncodedCommit) -> Answer {
    let boarded = if turn.metadata.name.is_some() {
        starts.board(turn.token.id).await
    } else {
        // Nothing can be stored that nobody can name.
        starts.stored(turn.token.id).await;
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
    starts: &Starts,
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
    let Some(mut offer) = offer else {
        return writer.run(Work::Message(DelayedMessage { message, delay })).await;
    };
    match offer.outcome().await {
        Ok(()) => Ok(None),
        Err(Stage::HandedOut { lock_for }) => {
            writer.run(Work::Start(LeasedStart { message, token: offer.id, lock_for })).await
        }
        Err(Stage::Waiting | Stage::Storing) => {
            writer.run(Work::Message(DelayedMessage { message, delay })).await
        }
    }
}
