//! The future of a scheduled operation.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use super::orchestration::Shared;
use super::state::{StartLimits, State};
use crate::model::{Action, CompletionResult, ScheduleKind};

/// A scheduled operation. The work is scheduled by the call that returned this, not by the first
/// poll; dropping it before it yielded asks for cancellation of the work.
#[must_use = "dropping this future cancels the scheduled work"]
pub struct DurableFuture<T> {
    stage: Stage<T>,
}

enum Stage<T> {
    Waiting { handle: CallHandle, finish: Finish<T> },
    Ready(T),
    Done,
}

type Finish<T> = Box<dyn FnOnce(CompletionResult) -> T + Send>;

// Nothing in here is ever pinned in place: the parts are moved or boxed.
impl<T> Unpin for DurableFuture<T> {}

impl<T> fmt::Debug for DurableFuture<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.stage {
            Stage::Waiting { handle, .. } => {
                f.debug_tuple("DurableFuture").field(&handle.kind).finish()
            }
            Stage::Ready(_) => f.write_str("DurableFuture(ready)"),
            Stage::Done => f.write_str("DurableFuture(done)"),
        }
    }
}

impl<T: Send + 'static> DurableFuture<T> {
    pub(crate) fn waiting(
        handle: CallHandle,
        finish: impl FnOnce(CompletionResult) -> T + Send + 'static,
    ) -> Self {
        Self { stage: Stage::Waiting { handle, finish: Box::new(finish) } }
    }

    pub(crate) fn ready(value: T) -> Self {
        Self { stage: Stage::Ready(value) }
    }

    /// Post-processes the value. The new future stands for the same work: dropping it cancels it.
    pub fn map<U: Send + 'static>(
        self,
        f: impl FnOnce(T) -> U + Send + 'static,
    ) -> DurableFuture<U> {
        let stage = match self.stage {
            Stage::Waiting { handle, finish } => {
                Stage::Waiting { handle, finish: Box::new(move |result| f(finish(result))) }
            }
            Stage::Ready(value) => Stage::Ready(f(value)),
            Stage::Done => Stage::Done,
        };
        DurableFuture { stage }
    }

    /// Routes the activity that was just scheduled to workers that take `tag`.
    ///
    /// # Panics
    /// When the future is not an activity, or when something was awaited in between.
    pub fn with_tag(self, tag: impl Into<String>) -> Self {
        if let Stage::Waiting { handle, .. } = &self.stage {
            handle.set_tag(tag.into());
        }
        self
    }

    /// Lets the activity that was just scheduled fail if no worker has started it after `limit`.
    /// The code sees an ordinary error of the activity.
    ///
    /// The limit is no part of history: it may be changed for activities to come while older ones
    /// wait.
    ///
    /// # Panics
    /// When the future is not an activity, or when something was awaited in between.
    pub fn with_schedule_to_start_limit(self, limit: Duration) -> Self {
        if let Stage::Waiting { handle, .. } = &self.stage {
            handle.set_start_limit(limit);
        }
        self
    }
}

impl<T> Future for DurableFuture<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let this = self.get_mut();
        match std::mem::replace(&mut this.stage, Stage::Done) {
            Stage::Waiting { mut handle, finish } => match handle.poll(cx) {
                Poll::Ready(result) => Poll::Ready(finish(result)),
                Poll::Pending => {
                    this.stage = Stage::Waiting { handle, finish };
                    Poll::Pending
                }
            },
            Stage::Ready(value) => Poll::Ready(value),
            Stage::Done => panic!("DurableFuture polled after it had yielded its value"),
        }
    }
}

/// Keeps one call alive; dropping it gives the call up.
pub(crate) struct CallHandle {
    shared: Arc<Shared>,
    token: u64,
    kind: ScheduleKind,
    yielded: bool,
}

impl CallHandle {
    pub(crate) fn new(shared: Arc<Shared>, token: u64, kind: ScheduleKind) -> Self {
        Self { shared, token, kind, yielded: false }
    }

    fn poll(&mut self, cx: &Context<'_>) -> Poll<CompletionResult> {
        let polled = self.shared.state().poll(self.token, cx.waker());
        self.yielded = polled.is_ready();
        polled
    }

    fn set_tag(&self, new_tag: String) {
        self.change_activity("with_tag", |action, _limits| {
            if let Action::CallActivity { tag, .. } = action {
                *tag = Some(new_tag);
            }
        });
    }

    fn set_start_limit(&self, limit: Duration) {
        self.change_activity("with_schedule_to_start_limit", |_action, limits| {
            limits.insert(self.token, limit);
        });
    }

    /// Changes a scheduled activity that is not recorded yet.
    fn change_activity(&self, method: &str, change: impl FnOnce(&mut Action, &mut StartLimits)) {
        assert!(
            matches!(self.kind, ScheduleKind::Activity { .. }),
            "{method}() can only be called on activity futures, got {:?}",
            self.kind
        );
        let mut state = self.shared.state();
        let State { emitted, start_limits, .. } = &mut *state;
        let emitted = emitted.iter_mut().rev().find(|(token, _)| *token == self.token);
        let Some((_, action)) = emitted else {
            drop(state);
            panic!(
                "{method}() must be called right after the activity is scheduled, \
                 before anything is awaited"
            );
        };
        change(action, start_limits);
    }
}

impl Drop for CallHandle {
    fn drop(&mut self) {
        if self.yielded {
            return;
        }
        let woken = self.shared.state().abandon(self.token);
        // Woken outside the lock: a waker may look at the state.
        for waker in woken {
            waker.wake();
        }
    }
}
