//! Faults of turns.

use std::sync::Arc;
use std::time::Duration;

use duroxide_core::EventKind;
use duroxide_core::providers::{
    DeferredHistory, DispatcherCapabilityFilter, FetchFilter, FetchedTurn, HistoryMark,
    KnownHistory, KvEntry, NeededCode, OrchestrationItem, Provider, ProviderAdmin, ProviderError,
    RegisteredOrchestrations, TurnCommit, TurnFetch, TurnState, WorkItem,
};
use semver::Version;

use crate::fault::Fault;
use crate::provider::{AGES, FaultyProvider};

const SAME_TOKEN: &str = "the-same-token";

type Fetched = Result<Option<(OrchestrationItem, String, u32)>, ProviderError>;

impl FaultyProvider {
    /// The filter with the fault applied; `None` matches everything.
    fn faulty_filter(
        &self,
        filter: Option<&DispatcherCapabilityFilter>,
    ) -> Option<DispatcherCapabilityFilter> {
        let mut filter = filter.cloned()?;
        match self.fault() {
            Some(Fault::FilterIgnored | Fault::FilterAfterLock) => return None,
            Some(Fault::FilterFirstRangeOnly) => filter.supported_duroxide_versions.truncate(1),
            Some(Fault::FilterEmptyMeansAll) if filter.supported_duroxide_versions.is_empty() => {
                return None;
            }
            _keeps_the_filter => {}
        }
        Some(filter)
    }

    pub(crate) async fn fetch_turn(
        &self,
        lock_timeout: Duration,
        poll_timeout: Duration,
        filter: Option<&DispatcherCapabilityFilter>,
    ) -> Fetched {
        let lock_timeout = if self.has(Fault::LeaseNeverExpires) { AGES } else { lock_timeout };
        let poll_timeout = self.faulty_poll(poll_timeout);
        let bent = self.faulty_filter(filter);
        let fetched =
            self.inner.fetch_orchestration_item(lock_timeout, poll_timeout, bent.as_ref()).await?;
        let Some((mut item, token, attempt)) = fetched else { return Ok(None) };
        self.memory.noted().instances.insert(token.clone(), item.instance.clone());
        if self.has(Fault::FilterAfterLock) && !self.passes(&item.instance, filter) {
            return Ok(None);
        }
        if self.has(Fault::DecodeErrorFails)
            && let Some(error) = &item.history_error
        {
            return Err(ProviderError::permanent("fetch_orchestration_item", error.as_str()));
        }
        self.distort_item(&mut item).await?;
        let attempt = if self.has(Fault::AttemptsNotCounted) { 1 } else { attempt };
        Ok(Some((item, self.hide_token(token), attempt)))
    }

    fn passes(&self, instance: &str, filter: Option<&DispatcherCapabilityFilter>) -> bool {
        let noted = self.memory.noted();
        match (noted.pins.get(instance), filter) {
            (Some(pin), Some(filter)) => filter.is_compatible(pin),
            _no_pin_or_no_filter => true,
        }
    }

    async fn distort_item(&self, item: &mut OrchestrationItem) -> Result<(), ProviderError> {
        match self.fault() {
            Some(Fault::DecodeErrorHidden) => item.history_error = None,
            Some(Fault::MessagesReversed) => item.messages.reverse(),
            Some(Fault::TurnStartLeftBehind) if item.messages.len() > 1 => {
                item.messages.retain(|message| !matches!(message, WorkItem::ContinueAsNew { .. }));
            }
            Some(Fault::TurnCancellationWaits) if item.messages.len() > 1 => {
                item.messages.retain(|message| !matches!(message, WorkItem::CancelInstance { .. }));
            }
            Some(Fault::HistoryReversed) => item.history.reverse(),
            Some(Fault::SnapshotEmpty) => item.kv_snapshot.clear(),
            Some(Fault::SnapshotHasRunningWrites) => {
                let live = self.inner.get_kv_all_values(&item.instance).await?;
                let entries = live
                    .into_iter()
                    .map(|(key, value)| (key, KvEntry { value, last_updated_at_ms: 1 }));
                item.kv_snapshot = entries.collect();
            }
            _leaves_the_item_alone => {}
        }
        Ok(())
    }

    fn hide_token(&self, token: String) -> String {
        if !self.has(Fault::TokenReused) {
            return token;
        }
        self.memory.noted().token = token;
        SAME_TOKEN.to_owned()
    }

    pub(crate) fn real_token(&self, token: &str) -> String {
        if token == SAME_TOKEN { self.memory.noted().token.clone() } else { token.to_owned() }
    }

    /// Commits a turn with the fault.
    pub(crate) async fn ack(&self, mut turn: TurnCommit) -> Result<(), ProviderError> {
        turn.lock_token = self.real_token(&turn.lock_token);
        let instance = self.memory.noted().instances.get(&turn.lock_token).cloned();
        self.note_commit(instance.as_deref(), &turn);
        self.distort_commit(instance.as_deref(), &mut turn).await;
        let early = self.take_timers(&mut turn);
        let result = self.pass_on(turn.clone()).await;
        if result.is_err() && self.has(Fault::AckNotAtomic) {
            self.enqueue_all(turn.messages().cloned().collect()).await?;
        }
        if result.is_ok() {
            self.enqueue_all(early).await?;
            self.delete_later_messages(instance.as_deref()).await?;
        }
        if self.has(Fault::AckAfterLeaseLost) { Ok(()) } else { self.faulty_commit_kind(result) }
    }

    async fn pass_on(&self, turn: TurnCommit) -> Result<(), ProviderError> {
        let messages = turn.messages().cloned().collect();
        self.inner
            .ack_orchestration_item(
                &turn.lock_token,
                turn.execution_id,
                turn.history_delta,
                turn.activities.into_iter().map(|activity| activity.item).collect(),
                messages,
                turn.metadata,
                turn.cancelled_activities,
            )
            .await
    }

    fn note_commit(&self, instance: Option<&str>, turn: &TurnCommit) {
        let Some(instance) = instance else { return };
        let mut noted = self.memory.noted();
        if let Some(pin) = &turn.metadata.pinned_duroxide_version {
            noted.pins.insert(instance.to_owned(), pin.clone());
        }
        for event in &turn.history_delta {
            if let EventKind::KeyValueSet { key, value, .. } = &event.kind {
                noted.values.insert((instance.to_owned(), key.clone()), value.clone());
                noted.shared_values.insert(key.clone(), value.clone());
            }
        }
        let starts = turn.messages().filter(|message| message.is_start());
        noted.child_starts.extend(starts.cloned());
    }

    async fn distort_commit(&self, instance: Option<&str>, turn: &mut TurnCommit) {
        let metadata = &mut turn.metadata;
        match self.fault() {
            Some(Fault::WorkItemsLost) => turn.activities.clear(),
            Some(Fault::MessagesLost) => {
                turn.own_messages.clear();
                turn.outgoing_messages.clear();
            }
            Some(Fault::CancellationsIgnored) => turn.cancelled_activities.clear(),
            Some(Fault::CancelBeforeEnqueue) => {
                let new = turn.activities.clone();
                turn.cancelled_activities.retain(|cancelled| {
                    !new.iter().any(|new| {
                        matches!(&new.item, WorkItem::ActivityExecute { instance, id, .. }
                            if *instance == cancelled.instance && *id == cancelled.activity_id)
                    })
                });
            }
            Some(Fault::VersionNotStored) => {
                metadata.orchestration_version =
                    metadata.orchestration_version.as_ref().map(|_| "0.0.1".to_owned());
            }
            Some(Fault::PinNotStored) => metadata.pinned_duroxide_version = None,
            Some(Fault::StatusNotStored) => (metadata.status, metadata.output) = (None, None),
            Some(Fault::OutputLost) => metadata.output = None,
            Some(Fault::ParentNotStored) => metadata.parent_instance_id = None,
            Some(Fault::DuplicateEventsIgnored) => {
                let Some(instance) = instance else { return };
                let stored = self.inner.read_with_execution(instance, turn.execution_id).await;
                let stored = stored.unwrap_or_default();
                turn.history_delta
                    .retain(|event| !stored.iter().any(|old| old.event_id == event.event_id));
            }
            _other => {}
        }
    }

    fn take_timers(&self, turn: &mut TurnCommit) -> Vec<WorkItem> {
        if !self.has(Fault::TimersDueAtOnce) {
            return Vec::new();
        }
        let items = turn.messages().cloned();
        let (mut timers, others): (Vec<_>, Vec<_>) =
            items.partition(|item| matches!(item, WorkItem::TimerFired { .. }));
        for timer in &mut timers {
            if let WorkItem::TimerFired { fire_at_ms, .. } = timer {
                *fire_at_ms = 0;
            }
        }
        turn.own_messages.clear();
        turn.outgoing_messages = others;
        timers
    }

    async fn enqueue_all(&self, items: Vec<WorkItem>) -> Result<(), ProviderError> {
        for item in items {
            self.inner.enqueue_for_orchestrator(item, None).await?;
        }
        Ok(())
    }

    async fn delete_later_messages(&self, instance: Option<&str>) -> Result<(), ProviderError> {
        if !self.has(Fault::LaterMessagesDeleted) {
            return Ok(());
        }
        let next = self.inner.fetch_orchestration_item(AGES, Duration::ZERO, None).await?;
        let Some((item, token, _)) = next else { return Ok(()) };
        if Some(item.instance.as_str()) == instance {
            let empty = TurnCommit::new(token, item.execution_id);
            return self.pass_on(empty).await;
        }
        self.inner.abandon_orchestration_item(&token, None, true).await
    }

    /// Claims a queued start of an id without an instance for ever, as if it were deleted.
    pub(crate) async fn lose_starts(&self, ids: &[String]) -> Result<(), ProviderError> {
        let next = self.inner.fetch_orchestration_item(AGES, Duration::ZERO, None).await?;
        let Some((item, token, _)) = next else { return Ok(()) };
        let is_new = self.inner.get_instance_info(&item.instance).await.is_err();
        if is_new && ids.contains(&item.instance) {
            return Ok(());
        }
        self.inner.abandon_orchestration_item(&token, None, true).await
    }

    /// The filter with a fault in the code that the caller has.
    fn faulty_code(&self, filter: &FetchFilter) -> FetchFilter {
        let mut filter = filter.clone();
        let Some(registered) = filter.orchestrations.clone() else { return filter };
        let names = registered.versions().keys();
        match self.fault() {
            Some(Fault::CodeFilterIgnored) => filter.orchestrations = None,
            Some(Fault::CodeVersionIgnored) => {
                let versions = names.flat_map(|name| {
                    (0..4).map(move |major| (name.as_str(), Version::new(major, 0, 0)))
                });
                filter = filter.with_orchestrations(RegisteredOrchestrations::new(versions));
            }
            Some(Fault::CodeFilterWithoutPins) => filter.replays = None,
            _keeps_the_filter => {}
        }
        filter
    }

    /// Releases turns that the faulty filter keeps for other nodes.
    async fn release_ended(
        &self,
        filter: &FetchFilter,
        turns: &mut Vec<FetchedTurn>,
    ) -> Result<(), ProviderError> {
        if self.has(Fault::PinOfEndedInstances) && filter.replays.is_some() {
            return self.release_finished(turns).await;
        }
        if filter.orchestrations.is_none() {
            return Ok(());
        }
        let is_kept = |turn: &FetchedTurn| match self.fault() {
            Some(Fault::CodeOfEndedInstances) => {
                let item = &turn.item;
                let code = NeededCode::of_execution(&item.orchestration_name, &item.version);
                let starts = item.messages.iter().any(WorkItem::is_start);
                !starts && !filter.allows_code(Some(&code))
            }
            Some(Fault::CodeMustBeExact) => {
                let code = turn.item.messages.iter().find_map(NeededCode::of_message);
                code.is_some_and(|code| code.version.is_none())
            }
            _other => false,
        };
        let (kept, given): (Vec<_>, Vec<_>) = turns.drain(..).partition(is_kept);
        *turns = given;
        for turn in kept {
            self.inner.abandon_orchestration_item(&turn.lock_token, None, true).await?;
        }
        Ok(())
    }

    async fn release_finished(&self, turns: &mut Vec<FetchedTurn>) -> Result<(), ProviderError> {
        for turn in std::mem::take(turns) {
            let info = self.inner.get_instance_info(&turn.item.instance).await;
            match info.is_ok_and(|info| info.status == "Failed") {
                true => self.inner.abandon_orchestration_item(&turn.lock_token, None, true).await?,
                false => turns.push(turn),
            }
        }
        Ok(())
    }

    pub(crate) async fn fetch_batch(
        &self,
        mut request: TurnFetch<'_>,
    ) -> Result<Vec<FetchedTurn>, ProviderError> {
        request.poll_timeout = self.faulty_poll(request.poll_timeout);
        match self.fault() {
            Some(Fault::BatchTooLarge) => request.turns_max += 1,
            Some(Fault::KnownIncarnationIgnored) => {
                let noted = self.memory.noted().incarnations.clone();
                request.known = request.known.map(|known| {
                    Arc::new(Current { known, incarnations: noted }) as Arc<dyn KnownHistory>
                });
            }
            Some(Fault::KnownCommitIgnored) => {
                request.known =
                    request.known.map(|known| Arc::new(AnyCommit(known)) as Arc<dyn KnownHistory>);
            }
            _other => {}
        }
        let filter = self.faulty_code(request.filter);
        request.filter = &filter;
        let defers = request.defers_histories;
        let mut turns = self.inner.fetch_orchestration_items(request).await?;
        self.release_ended(&filter, &mut turns).await?;
        for turn in &mut turns {
            let instance = turn.item.instance.clone();
            self.memory.noted().instances.insert(turn.lock_token.clone(), instance);
            if self.has(Fault::KnownSuffixLost) && turn.history_after > 0 {
                turn.item.history.clear();
            }
            if self.has(Fault::HistoryDeferredUnasked) && !defers {
                let events = std::mem::take(&mut turn.item.history).len() as u64;
                turn.deferred = Some(DeferredHistory::new(events, 0));
            }
        }
        Ok(turns)
    }

    /// Reads what a fetch deferred, with the fault.
    pub(crate) async fn turn_state(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<TurnState, ProviderError> {
        let mut state = self.inner.read_turn_state(instance, execution_id).await?;
        match self.fault() {
            Some(Fault::TurnStateIncomplete) => drop(state.history.pop()),
            Some(Fault::TurnStateErrorHidden) => state.history_error = None,
            _reads_well => {}
        }
        Ok(state)
    }
}

/// Reports every known mark without its commit.
struct AnyCommit(Arc<dyn KnownHistory>);

impl KnownHistory for AnyCommit {
    fn mark(&self, instance: &str) -> Option<HistoryMark> {
        Some(self.0.mark(instance)?.with_commit_id(None))
    }
}

/// Reports every known mark under the current incarnation.
struct Current {
    known: Arc<dyn KnownHistory>,
    incarnations: std::collections::HashMap<String, u64>,
}

impl KnownHistory for Current {
    fn mark(&self, instance: &str) -> Option<HistoryMark> {
        let mark = self.known.mark(instance)?;
        let incarnation = self.incarnations.get(instance).copied().unwrap_or(mark.incarnation);
        Some(mark.with_incarnation(incarnation))
    }
}
