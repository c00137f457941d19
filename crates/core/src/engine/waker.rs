//! Wake-ups of orchestration code, and detection of those that are not the engine's.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Wake;

/// Name of the signal by which a runtime makes an instance take the turn in which a foreign wake-up
/// is reported. It never becomes an event.
pub const FOREIGN_WAKE_SIGNAL: &str = "__duroxide_syscall:foreign_wake";

thread_local! {
    /// The execution that this thread is running, or zero.
    static RUNNING: Cell<u64> = const { Cell::new(0) };
}

static ID_NEXT: AtomicU64 = AtomicU64::new(1);

/// Notes wake-ups of one execution. Durable futures are woken only while the engine runs that
/// execution; a wake-up at any other time or from any other thread comes from a timer, a channel or
/// a task that replay does not know.
pub(super) struct EngineWaker {
    id: u64,
    woken: AtomicBool,
    foreign: AtomicBool,
    closed: AtomicBool,
    on_foreign: Option<Arc<dyn Fn() + Send + Sync>>,
}

impl fmt::Debug for EngineWaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EngineWaker").field("id", &self.id).finish_non_exhaustive()
    }
}

impl EngineWaker {
    pub(super) fn new(on_foreign: Option<Arc<dyn Fn() + Send + Sync>>) -> Self {
        Self {
            id: ID_NEXT.fetch_add(1, Ordering::Relaxed),
            woken: AtomicBool::new(false),
            foreign: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            on_foreign,
        }
    }

    /// Marks this thread as running the execution until the guard is dropped.
    pub(super) fn enter(&self) -> Running {
        Running { previous: RUNNING.replace(self.id) }
    }

    pub(super) fn take_woken(&self) -> bool {
        self.woken.swap(false, Ordering::SeqCst)
    }

    pub(super) fn is_woken(&self) -> bool {
        self.woken.load(Ordering::SeqCst)
    }

    pub(super) fn was_woken_from_outside(&self) -> bool {
        self.foreign.load(Ordering::SeqCst)
    }

    /// Whether code besides the execution and its caller holds this waker.
    pub(super) fn is_held_elsewhere(self: &Arc<Self>) -> bool {
        const EXECUTION_AND_CALLER: usize = 2;
        Arc::strong_count(self) > EXECUTION_AND_CALLER
    }

    /// Ignores every later wake-up: the execution is going away.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
    }
}

impl Wake for EngineWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.closed.load(Ordering::SeqCst) {
            return;
        }
        self.woken.store(true, Ordering::SeqCst);
        if RUNNING.get() == self.id {
            return;
        }
        self.foreign.store(true, Ordering::SeqCst);
        if let Some(report) = &self.on_foreign {
            report();
        }
    }
}

/// While it lives, wake-ups on this thread belong to the engine.
pub(super) struct Running {
    previous: u64,
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.set(self.previous);
    }
}
