//! What happens between a node and its store: counted commits, planned crashes, held completions,
//! and activities that wait for the clock of the test.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use duroxide_core::providers::{WorkItem, WorkerAnnouncement};
use tokio::sync::{oneshot, watch};

/// On which side of a commit a node crashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Before,
    After,
}

/// The commit at which a node crashes, from zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CrashPoint {
    pub(crate) commit: u64,
    pub(crate) side: Side,
}

/// How one environment deviates from an undisturbed run.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Plan {
    pub(crate) crash: Option<CrashPoint>,
    /// The seed by which completions and messages are ordered; `None` leaves their order alone.
    pub(crate) order: Option<u64>,
}

/// The state between a node and its store.
#[derive(Debug)]
pub(crate) struct Gate {
    plan: Plan,
    commits: AtomicU64,
    crashed: AtomicBool,
    changes: watch::Sender<u64>,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// Completions that wait for their turn.
    held: Vec<oneshot::Sender<()>>,
    /// Messages of clients that have not arrived, by instance, in the order of their sending.
    in_transit: BTreeMap<String, VecDeque<WorkItem>>,
    /// When sleeping activities wake up; `None` if only a cancellation wakes them.
    asleep: BTreeMap<u64, Option<u64>>,
    asleep_next: u64,
    random: u64,
    announcement: Option<WorkerAnnouncement>,
}

/// What the environment does next if nothing runs.
pub(crate) enum Released {
    /// A held completion goes on.
    Completion,
    /// This message arrives.
    Message(Box<WorkItem>),
    /// Nothing is held.
    Nothing,
}

impl Gate {
    pub(crate) fn new(plan: Plan) -> Self {
        let inner = Inner { random: plan.order.unwrap_or_default(), ..Inner::default() };
        Self {
            plan,
            commits: AtomicU64::new(0),
            crashed: AtomicBool::new(false),
            changes: watch::Sender::new(0),
            inner: Mutex::new(inner),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn touch(&self) {
        self.changes.send_modify(|changes| *changes += 1);
    }

    /// Notified of every change from now on.
    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Counts a commit. Returns on which side of it the node crashes, if it does.
    pub(crate) fn count_commit(&self) -> Option<Side> {
        let commit = self.commits.fetch_add(1, Ordering::SeqCst);
        self.plan.crash.filter(|crash| crash.commit == commit).map(|crash| crash.side)
    }

    pub(crate) fn commits(&self) -> u64 {
        self.commits.load(Ordering::SeqCst)
    }

    /// Notes that the node is gone.
    pub(crate) fn crash(&self) {
        self.crashed.store(true, Ordering::SeqCst);
        // Its completions went with it.
        self.lock().held.clear();
        self.touch();
    }

    pub(crate) fn take_crash(&self) -> bool {
        self.crashed.swap(false, Ordering::SeqCst)
    }

    pub(crate) fn permutes(&self) -> bool {
        self.plan.order.is_some()
    }

    /// Waits until this completion is chosen.
    pub(crate) async fn hold_completion(&self) {
        if !self.permutes() {
            return;
        }
        let (release, released) = oneshot::channel();
        self.lock().held.push(release);
        self.touch();
        // A crash drops the sender; the caller is about to be aborted.
        let _chosen = released.await;
    }

    /// Sends a message on its way.
    pub(crate) fn send(&self, instance: &str, message: WorkItem) {
        self.lock().in_transit.entry(instance.to_owned()).or_default().push_back(message);
        self.touch();
    }

    /// Completions that wait to be chosen.
    pub(crate) fn held(&self) -> usize {
        self.lock().held.len()
    }

    /// Chooses one of the held completions and messages. Those of one instance keep their order.
    pub(crate) fn release_one(&self) -> Released {
        let mut inner = self.lock();
        let choices = inner.held.len() + inner.in_transit.len();
        if choices == 0 {
            return Released::Nothing;
        }
        let chosen = inner.draw(choices);
        if chosen < inner.held.len() {
            let release = inner.held.remove(chosen);
            // An aborted activity has dropped its end.
            let _aborted = release.send(());
            return Released::Completion;
        }
        let instance = inner.in_transit.keys().nth(chosen - inner.held.len()).cloned();
        let instance = instance.unwrap_or_default();
        let message = inner.in_transit.get_mut(&instance).and_then(VecDeque::pop_front);
        inner.in_transit.retain(|_instance, messages| !messages.is_empty());
        message.map_or(Released::Nothing, |message| Released::Message(Box::new(message)))
    }

    /// Notes an activity that waits for the clock of the test while the guard lives.
    pub(crate) fn fall_asleep(self: &Arc<Self>, until: Option<u64>) -> Asleep {
        let mut inner = self.lock();
        let id = inner.asleep_next;
        inner.asleep_next += 1;
        inner.asleep.insert(id, until);
        drop(inner);
        self.touch();
        Asleep { gate: Arc::clone(self), id }
    }

    /// How many activities sleep at `now`, and when the first wakes up.
    pub(crate) fn asleep(&self, now_ms: u64) -> (usize, Option<u64>) {
        let inner = self.lock();
        let sleeping = || inner.asleep.values().filter(|until| until.is_none_or(|at| at > now_ms));
        (sleeping().count(), sleeping().copied().flatten().min())
    }

    pub(crate) fn announce(&self, announcement: &WorkerAnnouncement) {
        self.lock().announcement = Some(announcement.clone());
    }

    pub(crate) fn announcement(&self) -> Option<WorkerAnnouncement> {
        self.lock().announcement.clone()
    }
}

impl Inner {
    /// A number below `bound`, from a generator that only the seed decides (SplitMix64).
    fn draw(&mut self, bound: usize) -> usize {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^= mixed >> 31;
        usize::try_from(mixed % bound as u64).unwrap_or(0)
    }
}

/// While it lives, its activity waits for the clock of the test.
pub(crate) struct Asleep {
    gate: Arc<Gate>,
    id: u64,
}

impl Drop for Asleep {
    fn drop(&mut self) {
        self.gate.lock().asleep.remove(&self.id);
        self.gate.touch();
    }
}
