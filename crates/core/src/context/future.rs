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

/// The future of a scheduled operation.
///
/// The call that returns it schedules the work; the first poll does not. Dropping it before it
/// completes requests cancellation of the work.
///
/// # Examples
///
/// ```
/// # use duroxide_core as duroxide;
/// use duroxide::OrchestrationContext;
///
/// async fn both(ctx: OrchestrationContext, order: String) -> Result<String, String> {
///     // Both activities are scheduled here and run at the same time.
///     let charge = ctx.schedule_activity("Charge", order.clone());
///     let pack = ctx.schedule_activity("Pack", order).with_tag("warehouse");
///     charge.await?;
///     pack.await
/// }
/// ```
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

// No part is pinned in place: all parts are moved or boxed.
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

    /// Converts the value. Dropping the new future cancels the work as before.
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

    /// Routes the activity to workers that accept `tag`. Call it right after scheduling, before any
    /// await.
    ///
    /// # Panics
    /// When the future is not an activity, or when the code has awaited something since.
    pub fn with_tag(self, tag: impl Into<String>) -> Self {
        self.set_tag(tag.into());
        self
    }

    pub(super) fn set_tag(&self, tag: String) {
        if let Stage::Waiting { handle, .. } = &self.stage {
            handle.set_tag(tag);
        }
    }

    pub(super) fn set_session(&self, session_id: String) {
        if let Stage::Waiting { handle, .. } = &self.stage {
            handle.set_session(session_id);
        }
    }

    pub(super) fn set_start_limit(&self, limit: Duration) {
        if let Stage::Waiting { handle, .. } = &self.stage {
            handle.set_start_limit(limit);
        }
    }

    /// The input of a scheduled activity that is not yet recorded.
    pub(super) fn scheduled_input(&self) -> String {
        match &self.stage {
            Stage::Waiting { handle, .. } => handle.scheduled_input(),
            Stage::Ready(_) | Stage::Done => String::new(),
        }
    }

    /// The number of the call in its execution.
    pub(super) fn token(&self) -> u64 {
        match &self.stage {
            Stage::Waiting { handle, .. } => handle.token,
            Stage::Ready(_) | Stage::Done => 0,
        }
    }

    /// Makes the activity fail if no worker starts it within `limit`. The code receives an ordinary
    /// error of the activity. Call it right after scheduling, before any await.
    ///
    /// The limit is not part of history: changing it in the code affects activities that are
    /// scheduled later, and replay accepts it.
    ///
    /// # Panics
    /// When the future is not an activity, or when the code has awaited something since.
    pub fn with_schedule_to_start_limit(self, limit: Duration) -> Self {
        self.set_start_limit(limit);
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

/// Keeps one call alive. Dropping it abandons the call.
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

    fn set_session(&self, new_session: String) {
        self.change_activity("with_session", |action, _limits| {
            if let Action::CallActivity { session_id, .. } = action {
                *session_id = Some(new_session);
            }
        });
    }

    fn scheduled_input(&self) -> String {
        let mut found = String::new();
        self.change_activity("with_retry", |action, _limits| {
            if let Action::CallActivity { input, .. } = action {
                found.clone_from(input);
            }
        });
        found
    }

    fn set_start_limit(&self, limit: Duration) {
        self.change_activity("with_schedule_to_start_limit", |_action, limits| {
            limits.insert(self.token, limit);
        });
    }

    /// Changes a scheduled activity before it is recorded.
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
        // The waker runs after the lock is released, because it may lock the state.
        if let Some(waker) = woken {
            waker.wake();
        }
    }
}
