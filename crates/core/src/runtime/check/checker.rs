//! Replays one history against registered code.

use std::num::NonZero;
use std::sync::Arc;
use std::thread::available_parallelism;

use semver::Version;

use super::report::Progress;
use super::verdict::{CheckedExecution, Verdict, code_of};
use crate::clock::SystemClock;
use crate::engine::{Execution, Setup};
use crate::histories::{HistorySelection, RecordedHistory};
use crate::model::{Event, pins};
use crate::providers::{DispatcherCapabilityFilter, SemverRange};
use crate::runtime::handlers::Handlers;
use crate::runtime::{ActivityRegistry, OrchestrationRegistry};

/// Called for every checked execution.
type OnChecked = dyn Fn(&CheckedExecution, &Progress) + Send + Sync;

/// Compares recorded histories with the code of this build. Clones share their settings.
///
/// # Examples
///
/// ```
/// # use duroxide_core as duroxide;
/// use duroxide::OrchestrationContext;
/// use duroxide::runtime::OrchestrationRegistry;
/// use duroxide::runtime::check::Checker;
///
/// let orchestrations = OrchestrationRegistry::builder()
///     .register("Order", |ctx: OrchestrationContext, order: String| async move {
///         ctx.schedule_activity("Charge", order).await
///     })
///     .build();
/// let checker = Checker::new(orchestrations).with_finished(true);
/// # let folder = std::env::temp_dir().join("duroxide-no-histories");
/// # std::fs::create_dir_all(&folder).unwrap();
/// let report = checker.check_folder(&folder)?;
/// assert!(report.is_compatible(), "{report}");
/// # Ok::<(), duroxide::histories::HistoriesError>(())
/// ```
#[derive(Clone)]
pub struct Checker {
    orchestrations: OrchestrationRegistry,
    pub(super) handlers: Arc<Handlers>,
    pub(super) replays: Arc<DispatcherCapabilityFilter>,
    pub(super) selection: HistorySelection,
    pub(super) parallelism: usize,
    pub(super) on_checked: Option<Arc<OnChecked>>,
}

impl std::fmt::Debug for Checker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Checker")
            .field("replays", &self.replays)
            .field("selection", &self.selection)
            .field("parallelism", &self.parallelism)
            .finish_non_exhaustive()
    }
}

impl Checker {
    /// Checks running executions against this code, on all cores.
    pub fn new(orchestrations: OrchestrationRegistry) -> Self {
        let activities = ActivityRegistry::builder().build();
        let code = orchestrations.clone();
        Self {
            orchestrations,
            handlers: Arc::new(Handlers::new(Arc::new(SystemClock), code, activities)),
            replays: Arc::new(DispatcherCapabilityFilter::default_for_current_build()),
            selection: HistorySelection::Running,
            parallelism: available_parallelism().map_or(1, NonZero::get),
            on_checked: None,
        }
    }

    /// Sets the activities, for what their registration says about replays.
    #[must_use = "returns the changed checker"]
    pub fn with_activities(mut self, activities: ActivityRegistry) -> Self {
        let code = self.orchestrations.clone();
        self.handlers = Arc::new(Handlers::new(Arc::new(SystemClock), code, activities));
        self
    }

    /// Whether finished executions are checked as well.
    #[must_use = "returns the changed checker"]
    pub fn with_finished(mut self, finished: bool) -> Self {
        self.selection = if finished { HistorySelection::All } else { HistorySelection::Running };
        self
    }

    /// Sets the recorded versions of Duroxide that the nodes replay, if their options say so.
    #[must_use = "returns the changed checker"]
    pub fn with_replay_versions(mut self, versions: impl IntoIterator<Item = SemverRange>) -> Self {
        let supported_duroxide_versions = versions.into_iter().collect();
        self.replays = Arc::new(DispatcherCapabilityFilter { supported_duroxide_versions });
        self
    }

    /// Sets how many executions are checked, and held in memory, at the same time.
    #[must_use = "returns the changed checker"]
    pub fn with_parallelism(mut self, executions: usize) -> Self {
        self.parallelism = executions.max(1);
        self
    }

    /// Calls `observer` for every checked execution, fine or not, with the progress so far.
    #[must_use = "returns the changed checker"]
    pub fn with_observer(
        mut self,
        observer: impl Fn(&CheckedExecution, &Progress) + Send + Sync + 'static,
    ) -> Self {
        self.on_checked = Some(Arc::new(observer));
        self
    }

    /// Checks one history.
    pub fn check_history(&self, history: RecordedHistory) -> CheckedExecution {
        let verdict = self.verdict(&history);
        CheckedExecution::of(&history, verdict)
    }

    /// Whether the selection includes a history.
    pub(super) fn wants(&self, history: &RecordedHistory) -> bool {
        match self.selection {
            HistorySelection::All => true,
            HistorySelection::Running => !history.is_finished(),
        }
    }

    /// A history that cannot be decoded. If its pin says that this node does not replay it, that is
    /// the reason: newer releases write events that this one does not know.
    pub(super) fn undecodable(
        &self,
        (instance_id, execution_id): (&str, u64),
        start: Option<Event>,
        error: String,
    ) -> CheckedExecution {
        let unsupported = start.as_ref().and_then(|start| self.unsupported_pin(start));
        let verdict = unsupported.unwrap_or(Verdict::Undecodable { error });
        let known = start.into_iter().collect();
        CheckedExecution::of(&RecordedHistory::new(instance_id, execution_id, known), verdict)
    }

    fn unsupported_pin(&self, start: &Event) -> Option<Verdict> {
        let pin = Version::parse(&start.duroxide_version).ok()?;
        if pins::refusal(&pin).is_some() {
            return Some(Verdict::VersionUnsupported { supported: pins::supported() });
        }
        if self.replays.is_compatible(&pin) {
            return None;
        }
        let ranges = &self.replays.supported_duroxide_versions;
        let ranges: Vec<String> =
            ranges.iter().map(|range| format!(">={}, <={}", range.min, range.max)).collect();
        Some(Verdict::VersionUnsupported { supported: ranges.join(" or ") })
    }

    fn verdict(&self, history: &RecordedHistory) -> Verdict {
        let start = history.events.first();
        let Some((start, (name, version))) = start.and_then(|start| Some((start, code_of(start)?)))
        else {
            let error = "the first event must be OrchestrationStarted".to_owned();
            return Verdict::Undecodable { error };
        };
        if let Some(unsupported) = self.unsupported_pin(start) {
            return unsupported;
        }
        let Some(handler) = self.handlers.recorded_orchestration(name, version) else {
            return Verdict::HandlerMissing { registered: self.handlers.versions_of(name) };
        };
        let setup = Setup {
            handler,
            kv_snapshot: history.kv.clone().into_iter().collect(),
            parent: None,
            ignored_inputs: self.handlers.ignored_inputs(),
            on_foreign_wake: None,
        };
        match Execution::verify(setup, &history.events) {
            Ok(agreement) => Verdict::Fine(agreement),
            Err(disagreement) => Verdict::Differs(disagreement),
        }
    }
}
