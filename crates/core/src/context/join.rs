//! A join that polls only the children whose wakers fired.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// Waits for all children. Results keep the order of the children.
///
/// One poll visits the children in ascending order, each at most once, as if it polled all of them
/// in turn: a child that is woken by a later child waits for the next poll.
pub(crate) struct Join<F: Future> {
    children: Vec<Child<F>>,
    unfinished: usize,
    woken: Arc<Woken>,
    poll_all: bool,
    /// Children before this one have finished or can never be woken.
    first_wakeable: usize,
}

struct Child<F: Future> {
    stage: Stage<F>,
    waker: Arc<ChildWaker>,
}

enum Stage<F: Future> {
    Running(Pin<Box<F>>),
    Finished(F::Output),
}

// Children are boxed and results are moved: no part is pinned in place.
impl<F: Future> Unpin for Join<F> {}

/// Children whose wakers fired since their last poll.
#[derive(Default)]
struct Woken {
    inner: Mutex<WokenInner>,
}

#[derive(Default)]
struct WokenInner {
    children: BTreeSet<usize>,
    parent: Option<Waker>,
}

impl Woken {
    fn lock(&self) -> MutexGuard<'_, WokenInner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct ChildWaker {
    index: usize,
    woken: Arc<Woken>,
}

impl Wake for ChildWaker {
    fn wake(self: Arc<Self>) {
        let parent = {
            let mut woken = self.woken.lock();
            woken.children.insert(self.index);
            woken.parent.clone()
        };
        if let Some(parent) = parent {
            parent.wake();
        }
    }
}

impl<F: Future> Join<F> {
    /// With `poll_all`, each poll visits every unfinished child.
    pub(crate) fn new(futures: Vec<F>, poll_all: bool) -> Self {
        let woken = Arc::new(Woken::default());
        woken.lock().children.extend(0..futures.len());
        let children: Vec<Child<F>> = futures
            .into_iter()
            .enumerate()
            .map(|(index, future)| Child {
                stage: Stage::Running(Box::pin(future)),
                waker: Arc::new(ChildWaker { index, woken: Arc::clone(&woken) }),
            })
            .collect();
        Self { unfinished: children.len(), children, woken, poll_all, first_wakeable: 0 }
    }

    /// The next child to poll, at or after `from`.
    fn next_woken(&self, from: usize) -> Option<usize> {
        if self.poll_all {
            return (from < self.children.len()).then_some(from);
        }
        let mut woken = self.woken.lock();
        let index = woken.children.range(from..).next().copied()?;
        woken.children.remove(&index);
        Some(index)
    }

    /// Keeps the waker of the caller only while a child can use it. The engine concludes from a
    /// waker that is held that a wake-up may come.
    fn forget_unusable_parent(&mut self) {
        let mut woken = self.woken.lock();
        if self.poll_all || !woken.children.is_empty() {
            return;
        }
        // A child that is pending and has given its waker to nothing stays so: the position only
        // grows, and all polls together visit each child once.
        while let Some(child) = self.children.get(self.first_wakeable) {
            let is_running = matches!(child.stage, Stage::Running(_));
            if is_running && Arc::strong_count(&child.waker) > 1 {
                return;
            }
            self.first_wakeable += 1;
        }
        woken.parent = None;
    }

    fn poll_child(&mut self, index: usize) {
        let Some(child) = self.children.get_mut(index) else { return };
        let Stage::Running(future) = &mut child.stage else { return };
        let waker = Waker::from(Arc::clone(&child.waker));
        let mut cx = Context::from_waker(&waker);
        if let Poll::Ready(value) = future.as_mut().poll(&mut cx) {
            child.stage = Stage::Finished(value);
            self.unfinished -= 1;
        }
    }
}

impl<F: Future> Future for Join<F> {
    type Output = Vec<F::Output>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        this.woken.lock().parent = Some(cx.waker().clone());
        let mut from = 0;
        while let Some(index) = this.next_woken(from) {
            this.poll_child(index);
            from = index + 1;
        }
        if this.unfinished > 0 {
            this.forget_unusable_parent();
            return Poll::Pending;
        }
        let finished =
            std::mem::take(&mut this.children).into_iter().filter_map(|child| match child.stage {
                Stage::Finished(value) => Some(value),
                Stage::Running(_) => None,
            });
        Poll::Ready(finished.collect())
    }
}
