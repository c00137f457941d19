//! One instance that is held, and then ended without its code or released.
//!
//! Nothing is replayed: it works for an instance whose code, version or events no node knows.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::ending::{EndCause, Ending};
use super::open_calls::OpenCalls;
use super::{Client, ClientError};
use crate::limits::HOLD_LENGTH;
use crate::model::cancel_reason::{self, CancellingParent};
use crate::model::start::ParentCall;
use crate::model::{Event, ExecutionStatus};
use crate::providers::{
    HeldInstance, ProviderError, ProviderErrorKind, ScheduledActivityIdentifier, WaitingTurn,
};

/// An instance that no node can take a turn of until it is ended or released, or the lease expires.
pub(crate) struct HeldOpen {
    instance: String,
    held: HeldInstance,
    /// Of the current execution.
    open: OpenCalls,
    /// The call that waits for the instance, with its execution.
    parent: Option<CancellingParent>,
}

/// How an instance ended.
pub(crate) struct EndedInstance {
    pub(crate) instance: String,
    pub(crate) execution_id: u64,
    /// The start of the execution, if it can be decoded.
    pub(crate) start: Option<Event>,
    /// What was recorded.
    pub(crate) events: Vec<Event>,
    /// The activities that were cancelled.
    pub(crate) activities: Vec<ScheduledActivityIdentifier>,
    pub(crate) now_ms: u64,
}

impl HeldOpen {
    pub(super) fn parent(&self) -> Option<&CancellingParent> {
        self.parent.as_ref()
    }

    /// Whether it is between two executions.
    pub(super) fn continues_as_new(&self) -> bool {
        self.held.status == Some(ExecutionStatus::ContinuedAsNew)
    }

    /// The reason of the first waiting cancellation that is meant for the instance: a parent may
    /// have named it by mistake.
    pub(crate) fn cancellation(&self) -> Option<String> {
        self.held.cancellations.iter().find_map(|reason| {
            let (text, sender) = cancel_reason::split(reason);
            let is_meant = sender.is_none() || sender == self.parent;
            is_meant.then(|| text.to_owned())
        })
    }

    /// Whether the next turn is still the one that was found waiting.
    pub(crate) fn awaits(&self, turn: &WaitingTurn) -> bool {
        let stored = self.held.status.map(|_| self.held.execution_id);
        turn.instance_id == self.instance && turn.execution_id == stored
    }
}

impl Client {
    /// Holds an instance that has not ended, in place of any other holder.
    ///
    /// # Errors
    /// Of the kind [`NotFound`](ProviderErrorKind::NotFound) or
    /// [`Conflict`](ProviderErrorKind::Conflict) if it is unknown or has ended.
    pub(crate) async fn hold_open(&self, instance: &str) -> Result<HeldOpen, ClientError> {
        let held = self.admin()?.hold_instance(instance, HOLD_LENGTH).await?;
        let read = async {
            let mut open = self.open_calls(instance, held.execution_id).await?;
            if open.is_partial {
                open.other_children.extend(self.admin()?.list_children(instance).await?);
                let known: BTreeSet<&String> = open.children.values().collect();
                open.other_children.retain(|child| !known.contains(child));
            }
            let parent = self.waiting_parent(instance, &held, &open).await?;
            Ok((open, parent))
        };
        match read.await {
            Ok((open, parent)) => {
                Ok(HeldOpen { instance: instance.to_owned(), held, open, parent })
            }
            Err(error) => {
                self.release(&held).await;
                Err(error)
            }
        }
    }

    /// Ends a held instance. Its children and activities are cancelled. Its parent is notified
    /// unless it has ended before, as the caller knows.
    pub(crate) async fn end_held(
        &self,
        held: &HeldOpen,
        cause: &EndCause,
        parent: Option<&CancellingParent>,
    ) -> Result<EndedInstance, ClientError> {
        let HeldOpen { instance, held, open, .. } = held;
        let now_ms = self.provider().clock_of(instance).now_ms();
        let ending = Ending { instance, held, open, cause, parent, now_ms };
        let Some(commit) = ending.commit() else {
            self.release(held).await;
            let text = format!("instance {instance} has no start that this build can decode");
            return Err(ProviderError::permanent("terminate_instance", text).into());
        };
        let commit = Arc::new(commit);
        if let Err(error) = self.provider().commit_turn(Arc::clone(&commit)).await {
            self.release(held).await;
            return Err(error.into());
        }
        if let Err(error) = self.admin()?.discard_late_messages(instance).await {
            tracing::debug!(
                target: "duroxide::client", instance_id = %instance, %error,
                "could not remove the messages of an ended instance; a node removes them"
            );
        }
        let events = commit.history_delta.clone();
        let begun = events.first().filter(|event| event.is_start());
        Ok(EndedInstance {
            instance: instance.clone(),
            execution_id: commit.execution_id,
            start: begun.or(open.start.as_ref()).cloned(),
            activities: commit.cancelled_activities.clone(),
            events,
            now_ms,
        })
    }

    /// Ends an instance for a cause that its parent has not caused: the parent is notified.
    pub(crate) async fn end_for(
        &self,
        held: &HeldOpen,
        cause: &EndCause,
    ) -> Result<EndedInstance, ClientError> {
        self.end_held(held, cause, held.parent()).await
    }

    /// Leaves a held instance as it is.
    pub(crate) async fn release_held(&self, held: &HeldOpen) {
        self.release(&held.held).await;
    }

    pub(super) async fn release(&self, held: &HeldInstance) {
        let token = &held.lock_token;
        if let Err(error) = self.provider().abandon_orchestration_item(token, None, true).await {
            tracing::debug!(
                target: "duroxide::client", %error,
                "could not release an instance that was held; the lease expires"
            );
        }
    }

    /// The call that waits for an instance, with its execution.
    async fn waiting_parent(
        &self,
        instance: &str,
        held: &HeldInstance,
        open: &OpenCalls,
    ) -> Result<Option<CancellingParent>, ClientError> {
        let is_started = open.start.is_some() || open.is_partial;
        let call = match (&open.start, &held.start) {
            (Some(start), _) => ParentCall::of_event(&start.kind),
            (None, Some(start)) if !is_started => ParentCall::of_message(start),
            (None, _) => return self.parent_by_its_history(instance).await,
        };
        let Some(ParentCall { instance: parent, id, execution_id }) = call else {
            return Ok(None);
        };
        let execution_id = match execution_id {
            Some(execution_id) => execution_id,
            // Data written before 0.1.30: the latest execution waits.
            None => self.admin()?.latest_execution_id(&parent).await?,
        };
        Ok(Some(CancellingParent(parent, execution_id, id)))
    }

    /// The start of the instance cannot be decoded. Its parent has recorded the call.
    async fn parent_by_its_history(
        &self,
        instance: &str,
    ) -> Result<Option<CancellingParent>, ClientError> {
        let admin = self.admin()?;
        let parent = match admin.get_parent_id(instance).await {
            Ok(Some(parent)) => parent,
            Ok(None) => return Ok(None),
            Err(error) if error.kind == ProviderErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let execution_id = admin.latest_execution_id(&parent).await?;
        let open = self.open_calls(&parent, execution_id).await?;
        let call = open.children.into_iter().find(|(_, child)| child == instance);
        Ok(call.map(|(id, _)| {
            let caller = open.lineage.origin(execution_id, id);
            CancellingParent(parent, caller, id)
        }))
    }
}
