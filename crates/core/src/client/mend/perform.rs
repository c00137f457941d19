//! Stores the execution that continues another one.

use super::children::Waiting;
use super::compose::Composed;
use super::open::Open;
use super::plan::{ChildAct, MendPlan};
use super::planning::Request;
use super::source::{Source, conflict};
use crate::client::{Client, ClientError};
use crate::limits::HOLD_LENGTH;
use crate::model::event::build_version;
use crate::model::mended::{Lineage, MendMarker};
use crate::model::{ErrorDetails, Event, EventKind, ExecutionStatus};
use crate::providers::{
    ExecutionMetadata, ExpectedInstance, HeldInstance, NewExecution, ProviderErrorKind, TurnCommit,
};

/// The reason that a cancelled activity has in the history.
const ACTIVITIES_REASON: &str = "orchestration_terminal_failed";

impl Client {
    /// What mending an instance would change.
    pub(super) async fn plan_mending(
        &self,
        instance: &str,
        request: Request<'_>,
    ) -> Result<MendPlan, ClientError> {
        let source = self.read_source(instance).await?;
        let mut composed = self.compose(&source, &request, 0).await?;
        let cancelled = composed.cancelled();
        let mut children = self.plan_children(&waiting(&composed, &request)).await?;
        children.extend(cancelled);
        composed.plan.children = children;
        Ok(composed.plan)
    }

    /// Mends an instance under its own id.
    pub(super) async fn mend_in_place(
        &self,
        instance: &str,
        request: Request<'_>,
    ) -> Result<MendPlan, ClientError> {
        let source = self.read_source(instance).await?;
        let composed = match source.status() {
            ExecutionStatus::Running => self.reset_running(instance, &request).await?,
            ExecutionStatus::Completed
            | ExecutionStatus::Failed
            | ExecutionStatus::ContinuedAsNew => {
                let composed = self.compose_settled(&source, &request).await?;
                // A cancellation or an answer that came after the end belongs to the past.
                self.admin()?.discard_late_messages(instance).await?;
                let expected = ExpectedInstance::Ended {
                    execution_id: source.execution_id,
                    last_event_id: source.last_event_id(),
                };
                self.store(&composed, expected, None).await?;
                composed
            }
        };
        self.finish(composed, &request).await
    }

    /// Stores a fork.
    pub(super) async fn fork(
        &self,
        instance: &str,
        request: Request<'_>,
    ) -> Result<MendPlan, ClientError> {
        let source = self.read_source(instance).await?;
        let composed = self.compose(&source, &request, 0).await?;
        self.store(&composed, ExpectedInstance::New, None).await?;
        self.finish(composed, &request).await
    }

    /// Holds an instance that runs, and ends its execution together with the start of the next.
    async fn reset_running(
        &self,
        instance: &str,
        request: &Request<'_>,
    ) -> Result<Composed, ClientError> {
        let held = self.admin()?.hold_instance(instance, HOLD_LENGTH).await?;
        let reset = self.reset_held(instance, request, &held).await;
        if reset.is_err() {
            self.release(&held).await;
        }
        reset
    }

    async fn reset_held(
        &self,
        instance: &str,
        request: &Request<'_>,
        held: &HeldInstance,
    ) -> Result<Composed, ClientError> {
        let source = self.read_source(instance).await?;
        let composed = self.compose_settled(&source, request).await?;
        let ending = ending(&source, &composed, held);
        let expected = ExpectedInstance::Held { lock_token: held.lock_token.clone() };
        self.store(&composed, expected, Some(ending)).await?;
        Ok(composed)
    }

    /// Composes what continues an execution when the children that it cancelled have ended.
    async fn compose_settled(
        &self,
        source: &Source,
        request: &Request<'_>,
    ) -> Result<Composed, ClientError> {
        let composed = self.compose(source, request, 0).await?;
        match self.end_cancelled_children(&composed).await? {
            0 => Ok(composed),
            // What failed before the new execution is retried with it.
            ended_at_ms => self.compose(source, request, ended_at_ms).await,
        }
    }

    async fn store(
        &self,
        composed: &Composed,
        expected: ExpectedInstance,
        ending: Option<TurnCommit>,
    ) -> Result<(), ClientError> {
        let MendPlan { new_instance, new_execution_id, history, .. } = &composed.plan;
        let cancels = composed.cancels.iter().map(|(_, _, message)| message.clone());
        let messages = composed.messages.iter().cloned().chain(cancels).collect();
        let commit = TurnCommit::new("", *new_execution_id)
            .with_history_delta(history.events.clone())
            .with_activities(composed.activities.clone())
            .with_messages(new_instance, messages)
            .with_cancelled_activities(composed.left_behind.clone())
            .with_metadata(composed.metadata.clone());
        let execution = NewExecution::new(new_instance.clone(), expected, commit)
            .with_ending(ending)
            .with_custom_status(composed.custom_status.clone())
            .with_kv(composed.kv.clone());
        self.admin()?.store_execution(execution).await.map_err(|error| {
            if error.kind == ProviderErrorKind::LostLease {
                return conflict(format!("another call holds instance {new_instance}"));
            }
            error.into()
        })
    }

    /// Sees to the children, and reports.
    async fn finish(
        &self,
        mut composed: Composed,
        request: &Request<'_>,
    ) -> Result<MendPlan, ClientError> {
        let cancelled = composed.cancelled();
        let mut children = self.mend_children(&waiting(&composed, request)).await?;
        children.extend(cancelled);
        composed.plan.children = children;
        let MendPlan { instance, new_instance, new_execution_id, kept, .. } = &composed.plan;
        tracing::info!(
            target: "duroxide::client",
            instance_id = %new_instance, execution_id = new_execution_id,
            from_instance = %instance, kept_until = kept, reason = %request.options.reason,
            "instance mended; nodes continue it"
        );
        Ok(composed.plan)
    }

    /// Finishes the work of a call that mended an instance and was interrupted before its children;
    /// `None` if nothing of that kind is left.
    pub(super) async fn finish_interrupted(
        &self,
        source: &Source,
        request: &Request<'_>,
    ) -> Result<Option<MendPlan>, ClientError> {
        let marker = source
            .events
            .iter()
            .rev()
            .find_map(|event| MendMarker::of(event).map(|marker| (event.timestamp_ms, marker)));
        let Some((mended_at_ms, marker)) = marker else { return Ok(None) };
        let mut open = Open::of(&source.events).children;
        open.retain(|call, _| *call <= marker.kept);
        let waiting = Waiting {
            instance: &source.instance,
            execution_id: source.execution_id,
            lineage: source.lineage(),
            children: &open,
            doomed: None,
            mended_at_ms,
            options: request.options,
            depth: request.depth,
        };
        let children = self.mend_children(&waiting).await?;
        let is_finished = children.iter().all(|child| child.act == ChildAct::Wait);
        if is_finished {
            return Ok(None);
        }
        let kept = source.events.iter().filter(|event| event.event_id <= marker.kept).count();
        Ok(Some(MendPlan::of_interrupted(source, &marker, kept, children)))
    }
}

/// The calls of a composed execution.
fn waiting<'a>(composed: &'a Composed, request: &Request<'a>) -> Waiting<'a> {
    let plan = &composed.plan;
    Waiting {
        instance: &plan.new_instance,
        execution_id: plan.new_execution_id,
        lineage: Lineage::of(&plan.history.events),
        children: &composed.children,
        doomed: Some(&composed.doomed),
        mended_at_ms: composed.now_ms,
        options: request.options,
        depth: request.depth,
    }
}

/// Ends the current execution, as if it had been cancelled.
fn ending(source: &Source, composed: &Composed, held: &HeldInstance) -> TurnCommit {
    let plan = &composed.plan;
    let reason = format!("reset to event {}, see execution {}", plan.kept, plan.new_execution_id);
    let details = ErrorDetails::cancelled(reason.as_str());
    let output = details.display_message();
    let mut kinds = vec![
        (None, EventKind::OrchestrationCancelRequested { reason }),
        (None, EventKind::OrchestrationFailed { details }),
    ];
    for activity in Open::of(&source.events).activities.into_keys() {
        let reason = ACTIVITIES_REASON.to_owned();
        kinds.push((Some(activity), EventKind::ActivityCancelRequested { reason }));
    }
    let event = |(event_id, (source_event_id, kind))| Event {
        event_id,
        source_event_id,
        instance_id: source.instance.clone(),
        execution_id: source.execution_id,
        timestamp_ms: composed.now_ms,
        duroxide_version: build_version().to_owned(),
        kind,
    };
    let events = (held.last_event_id.saturating_add(1)..).zip(kinds).map(event).collect();
    TurnCommit::new("", source.execution_id)
        .with_history_delta(events)
        .with_metadata(ExecutionMetadata {
            status: Some(ExecutionStatus::Failed.as_str().to_owned()),
            output: Some(output),
            ..ExecutionMetadata::default()
        })
        .with_cancelled_activities(held.activities.clone())
}
