//! The context that is handed to orchestration code.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::future::{CallHandle, DurableFuture};
use super::rules::Rules;
use super::state::State;
use crate::model::{Action, CompletionResult, Event, ScheduleKind};

/// Everything orchestration code may use to reach the outside world. Cloning is cheap.
///
/// Orchestration code is replayed: it must decide only by its input and by what this context gives
/// it, never by clocks, random numbers, files or other tasks.
#[derive(Clone)]
pub struct OrchestrationContext {
    pub(crate) shared: Arc<Shared>,
}

/// What all clones of a context, all futures and the engine share.
pub(crate) struct Shared {
    pub(crate) instance_id: String,
    pub(crate) execution_id: u64,
    pub(crate) orchestration_name: String,
    pub(crate) orchestration_version: String,
    state: Mutex<State>,
}

impl Shared {
    /// Locks the state. A panic of user code cannot happen under the lock, so a poisoned lock still
    /// guards consistent data.
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

/// Who the code is.
pub(crate) struct Identity {
    pub(crate) instance_id: String,
    pub(crate) execution_id: u64,
    pub(crate) orchestration_name: String,
    pub(crate) orchestration_version: String,
}

impl OrchestrationContext {
    /// A context without an engine, replaying, with the oldest replay rules. For tests of engines;
    /// `history` and `worker_id` are ignored.
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

    /// Whether the code is being fed events that were recorded before this turn.
    pub fn is_replaying(&self) -> bool {
        self.shared.state().replaying
    }

    /// Id of the instance.
    pub fn instance_id(&self) -> String {
        self.shared.instance_id.clone()
    }

    /// Number of the execution.
    pub fn execution_id(&self) -> u64 {
        self.shared.execution_id
    }

    /// Registered name of the orchestration.
    pub fn orchestration_name(&self) -> String {
        self.shared.orchestration_name.clone()
    }

    /// Resolved version of the orchestration.
    pub fn orchestration_version(&self) -> String {
        self.shared.orchestration_version.clone()
    }

    /// Emits an action and hands out the future that stands for it.
    pub(crate) fn schedule<T: Send + 'static>(
        &self,
        action: Action,
        kind: ScheduleKind,
        finish: impl FnOnce(CompletionResult) -> T + Send + 'static,
    ) -> DurableFuture<T> {
        self.schedule_with(|_token| (action, kind), finish)
    }

    /// Like [`schedule`](Self::schedule), for actions that mention their own token.
    pub(crate) fn schedule_with<T: Send + 'static>(
        &self,
        make: impl FnOnce(u64) -> (Action, ScheduleKind),
        finish: impl FnOnce(CompletionResult) -> T + Send + 'static,
    ) -> DurableFuture<T> {
        let mut state = self.shared.state();
        let token = state.new_token();
        let (action, kind) = make(token);
        state.emit_call(token, action, kind.clone());
        drop(state);
        DurableFuture::waiting(CallHandle::new(Arc::clone(&self.shared), token, kind), finish)
    }
}

/// Text of a completion that must be a result or an error.
pub(crate) fn text_result(result: CompletionResult) -> Result<String, String> {
    match result {
        CompletionResult::ActivityOk(text) | CompletionResult::SubOrchOk(text) => Ok(text),
        CompletionResult::ActivityErr(text) | CompletionResult::SubOrchErr(text) => Err(text),
        CompletionResult::ExternalData(text) => Ok(text),
        CompletionResult::TimerFired => Ok(String::new()),
    }
}
