//! The life of an instance, turn by turn, as a runtime would commit it.

use duroxide_core::providers::{ExecutionMetadata, WorkItem};
use duroxide_core::{AppErrorKind, ErrorDetails, Event, EventKind};
use semver::Version;

use super::{
    Must, Store, Turn, commit, continuation, create_instance_with_parent, ended, event, named,
    signal, start_item, started,
};
use crate::ProviderFactory;

impl<F: ProviderFactory + ?Sized> Store<'_, F> {
    /// A turn of a known instance, which a signal has just woken.
    pub(crate) async fn woken(&self, instance: &str) -> Turn {
        self.send(signal(instance, "wake")).await;
        self.turn_of(instance).await
    }

    /// One turn that adds events to the running execution.
    pub(crate) async fn record(&self, instance: &str, kinds: Vec<EventKind>) {
        let turn = self.woken(instance).await;
        self.ack(commit(&turn, next_events(&turn, kinds))).await.must("a commit");
    }

    /// The last turn of the current execution: some events, then the one that matches the status.
    pub(crate) async fn end_with(&self, instance: &str, end: End<'_>, mut kinds: Vec<EventKind>) {
        let turn = self.woken(instance).await;
        kinds.push(end.event());
        let commit = commit(&turn, next_events(&turn, kinds))
            .with_metadata(end.metadata())
            .with_messages(&turn.item.instance, end.successor(instance).into_iter().collect());
        self.ack(commit).await.must("a commit that ends an execution");
    }

    pub(crate) async fn complete(&self, instance: &str, output: &str) {
        self.end_with(instance, End::Completed(output), vec![]).await;
    }

    pub(crate) async fn fail(&self, instance: &str, output: &str) {
        self.end_with(instance, End::Failed(output), vec![]).await;
    }

    /// Finishes the current execution and starts the next one, in two turns.
    pub(crate) async fn continue_as_new(&self, instance: &str) {
        self.continue_with(instance, vec![]).await;
    }

    /// Like [`continue_as_new`](Self::continue_as_new), with events in the last turn before.
    pub(crate) async fn continue_with(&self, instance: &str, kinds: Vec<EventKind>) {
        self.end_with(instance, End::ContinuedAsNew("next"), kinds).await;
        let turn = self.turn_of(instance).await;
        self.begin_next(&turn, named()).await;
    }

    /// Commits the start event of the execution after the fetched one.
    pub(crate) async fn begin_next(&self, turn: &Turn, metadata: ExecutionMetadata) {
        let execution_id = turn.item.execution_id + 1;
        let events = vec![started(&turn.item.instance, execution_id)];
        let begin = commit(turn, events).with_execution_id(execution_id).with_metadata(metadata);
        self.ack(begin).await.must("the first commit of the next execution");
    }

    pub(crate) async fn create_child(&self, instance: &str, parent: &str) {
        create_instance_with_parent(&*self.provider, instance, parent).await;
    }

    /// A running instance whose first execution is pinned.
    pub(crate) async fn create_pinned(&self, instance: &str, version: &str) {
        self.send(start_item(instance)).await;
        let turn = self.turn_of(instance).await;
        let metadata = pinned(version);
        let first = commit(&turn, vec![started(instance, 1)]).with_metadata(metadata);
        self.ack(first).await.must("the first commit of a pinned instance");
    }

    /// Ids of all instances, sorted.
    pub(crate) async fn instances(&self) -> Vec<String> {
        let mut ids = self.admin().list_instances().await.must("listing instances");
        ids.sort();
        ids
    }

    pub(crate) async fn executions(&self, instance: &str) -> Vec<u64> {
        self.admin().list_executions(instance).await.must("listing executions")
    }
}

/// How an execution finishes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum End<'a> {
    Completed(&'a str),
    Failed(&'a str),
    ContinuedAsNew(&'a str),
}

impl End<'_> {
    pub(crate) fn event(self) -> EventKind {
        match self {
            Self::Completed(output) => {
                EventKind::OrchestrationCompleted { output: output.to_owned() }
            }
            Self::Failed(output) => EventKind::OrchestrationFailed { details: failure(output) },
            Self::ContinuedAsNew(input) => {
                EventKind::OrchestrationContinuedAsNew { input: input.to_owned() }
            }
        }
    }

    fn metadata(self) -> ExecutionMetadata {
        match self {
            Self::Completed(output) => ended("Completed", output),
            Self::Failed(output) => ended("Failed", output),
            Self::ContinuedAsNew(input) => ended("ContinuedAsNew", input),
        }
    }

    fn successor(self, instance: &str) -> Option<WorkItem> {
        let Self::ContinuedAsNew(input) = self else { return None };
        Some(continuation(instance, input))
    }
}

fn failure(message: &str) -> ErrorDetails {
    ErrorDetails::Application {
        kind: AppErrorKind::OrchestrationFailed,
        message: message.to_owned(),
        retryable: false,
    }
}

/// The events that follow what was fetched.
pub(crate) fn next_events(turn: &Turn, kinds: Vec<EventKind>) -> Vec<Event> {
    let item = &turn.item;
    let last = item.history.last().map_or(0, |event| event.event_id);
    (last + 1..)
        .zip(kinds)
        .map(|(event_id, kind)| event(&item.instance, item.execution_id, event_id, kind))
        .collect()
}

/// Metadata that pins a running execution.
pub(crate) fn pinned(version: &str) -> ExecutionMetadata {
    let version = Version::parse(version).expect("validations name versions that are semver");
    ExecutionMetadata { pinned_duroxide_version: Some(version), ..named() }
}
