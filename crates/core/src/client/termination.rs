//! Ends instances without their code.
//!
//! An instance is held, so that no node can commit a turn of it, and one commit ends it. Nothing is
//! replayed: it works for an instance whose code, version or events no node knows.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use tokio::time::sleep;

use super::ending::{Ending, PARENT_TERMINATED};
use super::open_calls::OpenCalls;
use super::{Client, ClientError};
use crate::limits::{HOLD_ATTEMPTS_MAX, HOLD_LENGTH, HOLD_PAUSE_MAX};
use crate::model::cancel_reason::CancellingParent;
use crate::model::start::ParentCall;
use crate::model::{ErrorDetails, EventKind};
use crate::providers::{HeldInstance, InstanceOutcome, ProviderError, ProviderErrorKind};

/// An instance that is to be ended.
struct Doomed {
    instance: String,
    reason: String,
    /// The call of the parent that was ended before. An explicit id may belong to an instance that
    /// is not its child.
    called_by: Option<CancellingParent>,
}

/// How one instance ended.
enum Ended {
    /// Now or by an earlier call like this one. Its execution tells what it had open.
    Terminated { execution_id: u64 },
    /// It is not the child of the call.
    NotTheChild,
}

impl Client {
    /// Ends an instance at once, without its code: it fails with `canceled: {reason}`. The children
    /// that its current execution waits for end too, its activities are cancelled, and its parent
    /// gets the failure.
    ///
    /// - It works on every instance: running, suspended, not yet started, held by a live node, and
    ///   one that no node can run or read. When the call returns, the end is stored. A turn that a
    ///   node is running is lost.
    /// - Of a history that cannot be read whole, it ends the children that have started. A parent
    ///   that has no readable record of the call gets no notice.
    /// - The call may be repeated: with the same reason it ends what an interrupted call has left.
    /// - Prefer [`cancel_instance`](Self::cancel_instance) for an instance that a node can run.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// # use duroxide::{Client, ClientError};
    /// # async fn example(client: &Client) -> Result<(), ClientError> {
    /// client.terminate_instance("order-7", "its code was removed").await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`InstanceNotFound`](ClientError::InstanceNotFound) for an unknown instance, and an error of
    /// the kind [`Conflict`](ProviderErrorKind::Conflict) for one that has ended in another way. An
    /// instance that has not started, and whose start cannot be decoded, can only be deleted.
    pub async fn terminate_instance(
        &self,
        instance: &str,
        reason: impl Into<String>,
    ) -> Result<(), ClientError> {
        let root = Doomed { instance: instance.to_owned(), reason: reason.into(), called_by: None };
        let mut seen = HashSet::from([root.instance.clone()]);
        let mut open = Vec::new();
        if let Ended::Terminated { execution_id } = self.terminate(&root).await? {
            open.extend(self.children_of(&root.instance, execution_id).await?);
        }
        while let Some(child) = open.pop() {
            if !seen.insert(child.instance.clone()) {
                continue;
            }
            match self.terminate(&child).await {
                Ok(Ended::Terminated { execution_id }) => {
                    open.extend(self.children_of(&child.instance, execution_id).await?);
                }
                Ok(Ended::NotTheChild) => {}
                Err(error) if is_over(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The children that an execution had open.
    async fn children_of(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<Vec<Doomed>, ClientError> {
        let open = self.open_calls(instance, execution_id).await?;
        let doomed = |child: String, called_by: Option<CancellingParent>| Doomed {
            instance: child,
            reason: PARENT_TERMINATED.to_owned(),
            called_by,
        };
        let mut children = Vec::new();
        if open.is_partial {
            // An event that cannot be decoded may have started some of them.
            let stored = self.admin()?.list_children(instance).await?;
            children.extend(stored.into_iter().map(|child| doomed(child, None)));
        }
        children.extend(open.children.into_iter().map(|(id, child)| {
            let call = CancellingParent(instance.to_owned(), execution_id, id);
            doomed(child, Some(call))
        }));
        Ok(children)
    }

    async fn terminate(&self, doomed: &Doomed) -> Result<Ended, ClientError> {
        let instance = &doomed.instance;
        for attempt in 0..HOLD_ATTEMPTS_MAX {
            let held = match self.admin()?.hold_instance(instance, HOLD_LENGTH).await {
                Ok(held) => held,
                Err(error) => return self.refused(doomed, error).await,
            };
            match self.end(doomed, &held).await {
                Err(ClientError::Provider(error)) if error.kind == ProviderErrorKind::LostLease => {
                    // Another call like this one has the instance.
                    let pause = HOLD_PAUSE_MAX * attempt / HOLD_ATTEMPTS_MAX;
                    let share = RandomState::new().hash_one(instance) % 1_000;
                    sleep(pause.mul_f64(share as f64 / 1_000.0)).await;
                }
                ended => return ended,
            }
        }
        let text = "other calls hold the instance again and again";
        Err(ProviderError::retryable("terminate_instance", text).into())
    }

    /// The instance cannot be held. If an earlier call has ended it, that is the end.
    async fn refused(&self, doomed: &Doomed, error: ProviderError) -> Result<Ended, ClientError> {
        if error.kind == ProviderErrorKind::NotFound {
            return Err(ClientError::InstanceNotFound { instance_id: doomed.instance.clone() });
        }
        if error.kind != ProviderErrorKind::Conflict {
            return Err(error.into());
        }
        let details = ErrorDetails::cancelled(doomed.reason.as_str());
        let expected = EventKind::OrchestrationFailed { details };
        match self.provider().read_outcome(&doomed.instance).await? {
            InstanceOutcome::Ended(event) if event.kind == expected => {
                Ok(Ended::Terminated { execution_id: event.execution_id })
            }
            InstanceOutcome::Ended(_) | InstanceOutcome::Running | InstanceOutcome::NotFound => {
                Err(error.into())
            }
        }
    }

    /// Ends an instance that is held, or releases it.
    async fn end(&self, doomed: &Doomed, held: &HeldInstance) -> Result<Ended, ClientError> {
        match self.try_end(doomed, held).await {
            Ok(Some(ended)) => Ok(ended),
            Ok(None) => {
                self.release(held).await;
                Ok(Ended::NotTheChild)
            }
            Err(error) => {
                self.release(held).await;
                Err(error)
            }
        }
    }

    async fn try_end(
        &self,
        doomed: &Doomed,
        held: &HeldInstance,
    ) -> Result<Option<Ended>, ClientError> {
        let instance = &doomed.instance;
        let open = self.open_calls(instance, held.execution_id).await?;
        let parent = self.waiting_parent(instance, held, &open).await?;
        if doomed.called_by.is_some() && doomed.called_by != parent {
            return Ok(None);
        }
        let ending = Ending {
            instance,
            held,
            open: &open,
            reason: &doomed.reason,
            // A parent that has ended needs no notice.
            parent: parent.as_ref().filter(|_| doomed.called_by.is_none()),
            now_ms: self.provider().clock_of(instance).now_ms(),
        };
        let Some(commit) = ending.commit() else {
            let text = format!("instance {instance} has no start that this build can decode");
            return Err(ProviderError::permanent("terminate_instance", text).into());
        };
        let execution_id = commit.execution_id;
        self.provider().commit_turn(Arc::new(commit)).await?;
        if let Err(error) = self.admin()?.discard_late_messages(instance).await {
            tracing::debug!(
                target: "duroxide::client", instance_id = %instance, %error,
                "could not remove the messages of a terminated instance; a node removes them"
            );
        }
        Ok(Some(Ended::Terminated { execution_id }))
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
        Ok(call.map(|(id, _)| CancellingParent(parent, execution_id, id)))
    }

    async fn release(&self, held: &HeldInstance) {
        let token = &held.lock_token;
        if let Err(error) = self.provider().abandon_orchestration_item(token, None, true).await {
            tracing::debug!(
                target: "duroxide::client", %error,
                "could not release an instance that was held; the lease expires"
            );
        }
    }
}

/// Whether an instance needs no end: it is gone or has ended by itself.
fn is_over(error: &ClientError) -> bool {
    match error {
        ClientError::InstanceNotFound { .. } => true,
        ClientError::Provider(error) => error.kind == ProviderErrorKind::Conflict,
        ClientError::ManagementNotAvailable
        | ClientError::InvalidInput { .. }
        | ClientError::Timeout
        | ClientError::InstanceStillRunning { .. }
        | ClientError::CannotDeleteSubOrchestration { .. } => false,
    }
}
