//! Composes the execution that continues the kept events of another one.

use std::collections::{BTreeMap, BTreeSet};

use super::cut::{Cause, Cut, is_of_dispatcher};
use super::keys::StartKeys;
use super::open::{Open, OpenActivity, OpenChild};
use super::options::{LaterMessages, LaterResults, MendOptions};
use super::plan::{ActivityToRun, DroppedEvent, MendPlan, ReappliedEvent, SetTimer};
use super::source::Source;
use crate::histories::RecordedHistory;
use crate::model::cancel_reason::{CancellingParent, by_parent};
use crate::model::cancel_request::CANCEL_REQUESTED;
use crate::model::edit::{EDIT_MESSAGE, EDITED};
use crate::model::event::build_version;
use crate::model::mended::{HeldSignal, MendMarker};
use crate::model::patch::is_marker_name;
use crate::model::start::VERSION_UNKNOWN;
use crate::model::{Event, EventKind, KvEntry, WorkItem, build_child_instance_id};
use crate::providers::{ExecutionMetadata, ScheduledActivityIdentifier};

/// Why the children of dropped calls end.
const CALL_DROPPED: &str = "parent was reset to an event before this call";

/// What to compose.
pub(super) struct Composition<'a> {
    pub(super) source: &'a Source,
    pub(super) cut: &'a Cut,
    pub(super) instance: &'a str,
    pub(super) execution_id: u64,
    pub(super) options: &'a MendOptions,
    pub(super) keys: StartKeys,
    pub(super) now_ms: u64,
}

/// An execution that is ready to be stored, and the plan that describes it.
#[derive(Debug)]
pub(super) struct Composed {
    pub(super) plan: MendPlan,
    pub(super) activities: Vec<WorkItem>,
    /// To the instance itself, in order.
    pub(super) messages: Vec<WorkItem>,
    /// To children that no kept event waits for.
    pub(super) cancels: Vec<(u64, String, WorkItem)>,
    /// Calls of children without an answer.
    pub(super) children: BTreeMap<u64, OpenChild>,
    /// Those of them whose children the old execution cancelled.
    pub(super) doomed: BTreeSet<u64>,
    pub(super) metadata: ExecutionMetadata,
    pub(super) custom_status: Option<String>,
    /// The keys that it starts with, if they are not those that are stored.
    pub(super) kv: Option<BTreeMap<String, KvEntry>>,
    /// Activities of the old execution that may still be in the queue.
    pub(super) left_behind: Vec<ScheduledActivityIdentifier>,
    pub(super) now_ms: u64,
}

impl Composition<'_> {
    pub(super) fn compose(self) -> Composed {
        let (kept, dropped): (Vec<&Event>, Vec<&Event>) =
            self.source.events.iter().partition(|event| event.event_id <= self.cut.kept);
        let mut later = Later::new(&self, Open::of(kept.iter().copied()));
        let redelivered = deliveries(&dropped);
        for event in &dropped {
            later.note(event, &redelivered);
        }
        let events = self.events(&kept, &later.held);
        let (cancels, left_behind) = match self.is_fork() {
            true => (Vec::new(), Vec::new()),
            false => (self.cancels(&dropped), self.left_behind()),
        };
        let plan = self.plan(&kept, &dropped, &later, &events);
        let activities = later.open.activities.iter().map(|(id, it)| self.activity(*id, it));
        Composed {
            activities: activities.collect(),
            messages: self.messages(&later),
            cancels,
            doomed: self.doomed(&dropped, &later.open.children),
            children: later.open.children.clone(),
            metadata: self.metadata(),
            custom_status: Open::of(kept.iter().copied()).custom_status,
            left_behind,
            now_ms: self.now_ms,
            plan,
            kv: self.keys.is_to_store.then_some(self.keys.kv),
        }
    }

    fn is_fork(&self) -> bool {
        self.instance != self.source.instance
    }

    /// The kept events under their own numbers, the marker, and the held signals.
    fn events(&self, kept: &[&Event], held: &[(String, String)]) -> Vec<Event> {
        let mut events: Vec<Event> = kept.iter().map(|event| self.carried(event)).collect();
        let mut marker =
            MendMarker::new(&self.source.instance, self.source.execution_id, self.cut.kept);
        marker.reason.clone_from(&self.options.reason);
        match self.is_fork() {
            true => marker.kv.clone_from(&self.keys.kv),
            false => marker.earlier = self.source.lineage().kept_until(self.cut.kept),
        }
        let held = held.iter().map(|(name, data)| HeldSignal::kind(name, data));
        for (place, kind) in (1..).zip(std::iter::once(marker.to_kind()).chain(held)) {
            events.push(Event {
                event_id: self.cut.kept.saturating_add(place),
                source_event_id: None,
                instance_id: self.instance.to_owned(),
                execution_id: self.execution_id,
                timestamp_ms: self.now_ms,
                duroxide_version: build_version().to_owned(),
                kind,
            });
        }
        events
    }

    /// A kept event. The start of a fork has no parent.
    fn carried(&self, event: &Event) -> Event {
        let mut event = event.clone();
        event.instance_id = self.instance.to_owned();
        event.execution_id = self.execution_id;
        let is_fork = self.is_fork();
        if let EventKind::OrchestrationStarted {
            version,
            parent_instance,
            parent_id,
            parent_execution_id,
            ..
        } = &mut event.kind
        {
            if let Some(wanted) = &self.options.version {
                version.clone_from(wanted);
            }
            if is_fork {
                (*parent_instance, *parent_id, *parent_execution_id) = (None, None, None);
            }
        }
        event
    }

    fn metadata(&self) -> ExecutionMetadata {
        let mut metadata = ExecutionMetadata::default();
        let Some(start) = self.source.start() else { return metadata };
        if let EventKind::OrchestrationStarted { name, version, parent_instance, .. } =
            self.carried(start).kind
        {
            metadata.orchestration_name = Some(name);
            metadata.orchestration_version = Some(version);
            metadata.parent_instance_id = parent_instance;
        }
        metadata.pinned_duroxide_version = semver::Version::parse(&start.duroxide_version).ok();
        metadata
    }

    fn activity(&self, id: u64, activity: &OpenActivity) -> WorkItem {
        let OpenActivity { name, input, session_id, tag } = activity.clone();
        let (instance, execution_id) = (self.instance.to_owned(), self.execution_id);
        WorkItem::ActivityExecute { instance, execution_id, id, name, input, session_id, tag }
    }

    /// A firing that belongs to no execution makes the instance take a turn and has no effect; then
    /// what arrives again; then the timers.
    fn messages(&self, later: &Later<'_>) -> Vec<WorkItem> {
        let fired = |execution_id, id, fire_at_ms| WorkItem::TimerFired {
            instance: self.instance.to_owned(),
            execution_id,
            id,
            fire_at_ms,
        };
        let timers = later.open.timers.iter();
        std::iter::once(fired(0, 0, 0))
            .chain(later.messages.iter().cloned())
            .chain(timers.map(|(id, fire_at_ms)| fired(self.execution_id, *id, *fire_at_ms)))
            .collect()
    }

    /// The children of dropped calls that have not answered.
    fn cancels(&self, dropped: &[&Event]) -> Vec<(u64, String, WorkItem)> {
        let lineage = self.source.lineage();
        let open = Open::of(dropped.iter().copied()).children.into_iter();
        let cancel = |(id, child): (u64, OpenChild)| {
            let instance = build_child_instance_id(&self.source.instance, &child.instance);
            let parent = self.source.instance.clone();
            let caller = lineage.origin(self.source.execution_id, id);
            let reason = by_parent(CALL_DROPPED, &CancellingParent(parent, caller, id));
            (id, instance.clone(), WorkItem::CancelInstance { instance, reason })
        };
        open.map(cancel).collect()
    }

    /// The calls whose children the source cancelled: those that its code gave up later, or all if
    /// it was cancelled itself or ended without its code.
    fn doomed(&self, dropped: &[&Event], open: &BTreeMap<u64, OpenChild>) -> BTreeSet<u64> {
        if self.is_fork() {
            return BTreeSet::new();
        }
        if dropped.iter().any(|event| cancels_all(&event.kind)) {
            return open.keys().copied().collect();
        }
        let given_up = dropped.iter().filter(|event| {
            matches!(event.kind, EventKind::SubOrchestrationCancelRequested { .. })
        });
        let calls = given_up.filter_map(|event| event.source_event_id);
        calls.filter(|call| open.contains_key(call)).collect()
    }

    /// An execution that failed without a turn has not cancelled its activities.
    fn left_behind(&self) -> Vec<ScheduledActivityIdentifier> {
        let identify = |activity_id| ScheduledActivityIdentifier {
            instance: self.source.instance.clone(),
            execution_id: self.source.execution_id,
            activity_id,
        };
        Open::of(&self.source.events).activities.into_keys().map(identify).collect()
    }

    fn plan(
        &self,
        kept: &[&Event],
        dropped: &[&Event],
        later: &Later<'_>,
        events: &[Event],
    ) -> MendPlan {
        let activities = later.open.activities.iter();
        let run_again = activities.map(|(id, activity)| ActivityToRun {
            event_id: *id,
            name: activity.name.clone(),
            failure: later.failures.get(id).cloned(),
        });
        let timers = later.open.timers.iter();
        let timers = timers.map(|(id, due)| SetTimer { event_id: *id, fire_at_ms: *due });
        let history = RecordedHistory::new(self.instance, self.execution_id, events.to_vec());
        MendPlan {
            instance: self.source.instance.clone(),
            execution_id: self.source.execution_id,
            new_instance: self.instance.to_owned(),
            new_execution_id: self.execution_id,
            cause: self.cut.cause.text(),
            kept: self.cut.kept,
            events_kept: kept.len(),
            dropped: self.dropped(dropped),
            run_again: run_again.collect(),
            reapplied: later.reapplied.clone(),
            timers: timers.collect(),
            children: Vec::new(),
            keys_restored: self.keys_restored(),
            warnings: self.warnings(dropped),
            history: history.with_kv(self.keys.kv.clone()),
        }
    }

    fn dropped(&self, dropped: &[&Event]) -> Vec<DroppedEvent> {
        let decoded = dropped.iter().map(|event| (event.event_id, event.kind.type_tag()));
        let raw = self.source.undecodable.iter().filter(|id| **id > self.cut.kept);
        let mut all: Vec<(u64, &str)> = decoded.chain(raw.map(|id| (*id, "undecodable"))).collect();
        all.sort_unstable();
        let describe =
            |(event_id, kind): (u64, &str)| DroppedEvent { event_id, kind: kind.to_owned() };
        all.into_iter().map(describe).collect()
    }

    fn keys_restored(&self) -> Option<Vec<String>> {
        if self.is_fork() || !self.source.changes_keys() {
            return None;
        }
        Some(self.keys.kv.keys().cloned().collect())
    }

    fn warnings(&self, dropped: &[&Event]) -> Vec<String> {
        let mut warnings = self.cut.cause.warnings();
        let mut completed = 0;
        for event in dropped {
            if let EventKind::OrchestrationChained { instance, .. } = &event.kind {
                warnings.push(format!(
                    "the detached orchestration {instance} was started after the kept events; it \
                     stays as it is"
                ));
            } else if matches!(event.kind, EventKind::ActivityCompleted { .. })
                && event.source_event_id.is_some_and(|id| id > self.cut.kept)
            {
                completed += 1;
            }
        }
        if completed > 0 {
            warnings.push(format!(
                "{completed} activities were scheduled and completed after the kept events; they \
                 run again if the code asks for them"
            ));
        }
        let version = self.metadata().orchestration_version;
        if version.as_deref() == Some(VERSION_UNKNOWN) {
            warnings.push(
                "the start names no version of the code; choose one with the option for it"
                    .to_owned(),
            );
        }
        warnings
    }
}

/// Whether an execution with such an event cancels all its children.
fn cancels_all(kind: &EventKind) -> bool {
    if let EventKind::OrchestrationFailed { details } = kind {
        return is_of_dispatcher(details);
    }
    matches!(kind, EventKind::OrchestrationCancelRequested { .. })
}

/// The held signals that were delivered among these events.
fn deliveries(events: &[&Event]) -> BTreeSet<u64> {
    let is_signal = |event: &&&Event| matches!(event.kind, EventKind::ExternalEvent { .. });
    events.iter().filter(is_signal).filter_map(|event| event.source_event_id).collect()
}

/// What came after the kept events, and what of it arrives again.
struct Later<'a> {
    composition: &'a Composition<'a>,
    /// What the kept events leave open, less what arrives again.
    open: Open,
    messages: Vec<WorkItem>,
    /// Names and data, in order.
    held: Vec<(String, String)>,
    reapplied: Vec<ReappliedEvent>,
    /// Failures of activities that run again.
    failures: BTreeMap<u64, String>,
}

impl<'a> Later<'a> {
    fn new(composition: &'a Composition<'a>, open: Open) -> Self {
        Self {
            composition,
            open,
            messages: Vec::new(),
            held: Vec::new(),
            reapplied: Vec::new(),
            failures: BTreeMap::new(),
        }
    }

    fn note(&mut self, event: &Event, redelivered: &BTreeSet<u64>) {
        if let EventKind::ExternalEvent { name, data } = &event.kind {
            self.note_signal(event, redelivered, name, data);
        } else if let EventKind::QueueEventDelivered { name, data } = &event.kind {
            let instance = self.composition.instance.to_owned();
            let (name, data) = (name.clone(), data.clone());
            if self.composition.options.messages == LaterMessages::Reapply {
                self.reapplied(event, Some(&name), false);
                self.messages.push(WorkItem::QueueMessage { instance, name, data });
            }
        } else {
            self.note_answer(event);
            self.note_wait(event);
        }
    }

    /// Later waits count: the signal that such a wait received is held for it.
    fn note_wait(&mut self, event: &Event) {
        if matches!(
            event.kind,
            EventKind::ExternalSubscribed { .. } | EventKind::ExternalSubscribedCancelled { .. }
        ) {
            self.open.note(event);
        }
    }

    fn note_signal(&mut self, event: &Event, redelivered: &BTreeSet<u64>, name: &str, data: &str) {
        let reapplies = self.composition.options.messages == LaterMessages::Reapply;
        if let Some(signal) = HeldSignal::of(event) {
            // One that was delivered later is noted then.
            if reapplies && !redelivered.contains(&signal.id) {
                self.reapplied(event, Some(&signal.name), true);
                self.held.push((signal.name, signal.data));
            }
            return;
        }
        if reapplies && name == EDITED {
            self.reapplied(event, Some(name), false);
            let (name, data) = (EDIT_MESSAGE.to_owned(), data.to_owned());
            let instance = self.composition.instance.to_owned();
            self.messages.push(WorkItem::QueueMessage { instance, name, data });
        }
        // A request to end is undone with what came after the cut.
        if is_marker_name(name) || name == CANCEL_REQUESTED {
            return;
        }
        let wait = self.open.waits.next(name);
        self.open.note(event);
        let kept = self.composition.cut.kept;
        let is_still_held = event.source_event_id.is_some_and(|held| held <= kept);
        match wait {
            // The kept event that holds it delivers it again.
            _ if is_still_held => self.reapplied(event, Some(name), true),
            Some(wait) if reapplies && wait <= kept => {
                self.reapplied(event, Some(name), false);
                self.messages.push(WorkItem::ExternalRaised {
                    instance: self.composition.instance.to_owned(),
                    name: name.to_owned(),
                    data: data.to_owned(),
                });
            }
            Some(_) if reapplies => {
                self.reapplied(event, Some(name), true);
                self.held.push((name.to_owned(), data.to_owned()));
            }
            // No wait received it: it would be lost again.
            Some(_) | None => {}
        }
    }

    /// A result of a kept call arrives again. What failed runs again.
    fn note_answer(&mut self, event: &Event) {
        let Some(id) = event.source_event_id else { return };
        let execution_id = self.composition.execution_id;
        let instance = || self.composition.instance.to_owned();
        if let EventKind::ActivityCompleted { result } = &event.kind
            && self.composition.options.results == LaterResults::Keep
            && self.open.activities.remove(&id).is_some()
        {
            let (instance, result) = (instance(), result.clone());
            self.messages.push(WorkItem::ActivityCompleted { instance, execution_id, id, result });
            self.reapplied(event, None, false);
        } else if let EventKind::ActivityFailed { details } = &event.kind {
            self.failures.insert(id, details.display_message());
        } else if let EventKind::TimerFired { fire_at_ms } = &event.kind
            && self.open.timers.remove(&id).is_some()
        {
            let (instance, fire_at_ms) = (instance(), *fire_at_ms);
            self.messages.push(WorkItem::TimerFired { instance, execution_id, id, fire_at_ms });
            self.reapplied(event, None, false);
        } else if let EventKind::SubOrchestrationCompleted { result } = &event.kind
            && self.open.children.remove(&id).is_some()
        {
            self.messages.push(WorkItem::SubOrchCompleted {
                parent_instance: instance(),
                parent_execution_id: execution_id,
                parent_id: id,
                result: result.clone(),
            });
            self.reapplied(event, None, false);
        }
    }

    fn reapplied(&mut self, event: &Event, name: Option<&str>, is_held: bool) {
        self.reapplied.push(ReappliedEvent {
            event_id: event.event_id,
            kind: event.kind.type_tag().to_owned(),
            name: name.map(str::to_owned),
            is_held,
        });
    }
}

impl Cause {
    fn text(&self) -> String {
        match self {
            Self::Chosen => "the operator chose the event".to_owned(),
            Self::FailedCall { schedule, text } => {
                format!("the call of event {schedule} failed: {text}")
            }
            Self::Cancelled => "it was cancelled".to_owned(),
            Self::FailedTurn { text } => format!("its last turn failed: {text}"),
            Self::FailedUnrun { text } => format!("it failed without a turn: {text}"),
        }
    }

    fn warnings(&self) -> Vec<String> {
        match self {
            Self::Chosen | Self::FailedCall { .. } | Self::Cancelled => Vec::new(),
            Self::FailedTurn { .. } => vec![
                "no call failed: the last turn runs again, and fails again unless its code or its \
                 data has changed"
                    .to_owned(),
            ],
            Self::FailedUnrun { .. } => vec![
                "signals and queue messages of the turn that failed are lost; they were not \
                 recorded"
                    .to_owned(),
            ],
        }
    }
}
