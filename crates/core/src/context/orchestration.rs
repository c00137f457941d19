//! The context that orchestration code receives.

use std::fmt;
use std::panic::Location;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::future::{CallHandle, DurableFuture};
use super::rules::Rules;
use super::state::{CallSite, State};
use crate::model::{Action, CompletionResult, Event, ScheduleKind};

/// The only way for orchestration code to reach the outside world. Clones are cheap and refer to
/// the same execution.
///
/// The runtime replays orchestration code over its history. The code must therefore depend only on
/// its input and on results of this context, never on clocks, random numbers, files or other tasks.
///
/// # Examples
///
/// ```
/// # use duroxide_core as duroxide;
/// use std::time::Duration;
///
/// use duroxide::{Either2, OrchestrationContext};
///
/// async fn place_order(ctx: OrchestrationContext, order: String) -> Result<String, String> {
///     ctx.set_custom_status("charging");
///     let receipt = ctx.schedule_activity("Charge", order.clone()).await?;
///
///     ctx.set_custom_status("waiting for approval");
///     let approval = ctx.schedule_wait("approved");
///     let deadline = ctx.schedule_timer(Duration::from_secs(3600));
///     match ctx.select2(approval, deadline).await {
///         Either2::First(_approver) => ctx.schedule_activity("Ship", order).await,
///         Either2::Second(()) => ctx.schedule_activity("Refund", receipt).await,
///     }
/// }
/// ```
#[derive(Clone)]
pub struct OrchestrationContext {
    pub(crate) shared: Arc<Shared>,
}

/// Shared by all clones of a context, all its futures and the engine.
pub(crate) struct Shared {
    pub(crate) instance_id: String,
    pub(crate) execution_id: u64,
    pub(crate) orchestration_name: String,
    pub(crate) orchestration_version: String,
    state: Mutex<State>,
}

impl Shared {
    /// Locks the state. User code never runs under the lock, so even a poisoned lock guards
    /// consistent data.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for OrchestrationContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OrchestrationContext")
            .field("instance_id", &self.shared.instance_id)
            .field("execution_id", &self.shared.execution_id)
            .field("orchestration_name", &self.shared.orchestration_name)
            .finish_non_exhaustive()
    }
}

/// The identity of an execution.
pub(crate) struct Identity {
    pub(crate) instance_id: String,
    pub(crate) execution_id: u64,
    pub(crate) orchestration_name: String,
    pub(crate) orchestration_version: String,
}

impl OrchestrationContext {
    /// Returns a context without an engine, for tests of engines. It replays with the oldest rules
    /// and ignores `history` and `worker_id`.
    pub fn new(
        history: Vec<Event>,
        execution_id: u64,
        instance_id: String,
        orchestration_name: String,
        orchestration_version: String,
        worker_id: Option<String>,
    ) -> Self {
        drop((history, worker_id));
        let identity =
            Identity { instance_id, execution_id, orchestration_name, orchestration_version };
        Self::with_rules(identity, Rules::LEGACY)
    }

    pub(crate) fn with_rules(identity: Identity, rules: Rules) -> Self {
        Self {
            shared: Arc::new(Shared {
                instance_id: identity.instance_id,
                execution_id: identity.execution_id,
                orchestration_name: identity.orchestration_name,
                orchestration_version: identity.orchestration_version,
                state: Mutex::new(State::new(rules)),
            }),
        }
    }

    /// Whether the code processes events that were recorded before this turn.
    pub fn is_replaying(&self) -> bool {
        self.shared.state().replaying
    }

    /// The id of the instance.
    pub fn instance_id(&self) -> String {
        self.shared.instance_id.clone()
    }

    /// The number of the execution, from 1.
    pub fn execution_id(&self) -> u64 {
        self.shared.execution_id
    }

    /// The registered name of the orchestration.
    pub fn orchestration_name(&self) -> String {
        self.shared.orchestration_name.clone()
    }

    /// The resolved version of the orchestration.
    pub fn orchestration_version(&self) -> String {
        self.shared.orchestration_version.clone()
    }

    /// Emits an action and returns its future.
    #[track_caller]
    pub(crate) fn schedule<T: Send + 'static>(
        &self,
        action: Action,
        kind: ScheduleKind,
        finish: impl FnOnce(CompletionResult) -> T + Send + 'static,
    ) -> DurableFuture<T> {
        self.schedule_at(Location::caller(), |_token| (action, kind), finish)
    }

    /// Like [`schedule`](Self::schedule), for a call that another function made for the code, and
    /// for actions that contain their own token.
    pub(crate) fn schedule_at<T: Send + 'static>(
        &self,
        site: CallSite,
        make: impl FnOnce(u64) -> (Action, ScheduleKind),
        finish: impl FnOnce(CompletionResult) -> T + Send + 'static,
    ) -> DurableFuture<T> {
        let mut state = self.shared.state();
        let token = state.new_token();
        state.note_call(token, site);
        let (action, kind) = make(token);
        state.emit_call(token, action, kind.clone());
        drop(state);
        DurableFuture::waiting(CallHandle::new(Arc::clone(&self.shared), token, kind), finish)
    }
}

/// The text of a completion, as a result.
pub(crate) fn text_result(result: CompletionResult) -> Result<String, String> {
    match result {
        CompletionResult::ActivityOk(text) | CompletionResult::SubOrchOk(text) => Ok(text),
        CompletionResult::ActivityErr(text) | CompletionResult::SubOrchErr(text) => Err(text),
        CompletionResult::ExternalData(text) => Ok(text),
        CompletionResult::TimerFired => Ok(String::new()),
    }
}
