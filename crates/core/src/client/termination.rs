//! Ends instances without their code.
//!
//! An instance is held, so that no node can commit a turn of it, and one commit ends it. Nothing is
//! replayed: it works for an instance whose code, version or events no node knows.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use tokio::time::sleep;

use super::ending::{EndCause, PARENT_TERMINATED};
use super::held::HeldOpen;
use super::{Client, ClientError};
use crate::limits::{HOLD_ATTEMPTS_MAX, HOLD_PAUSE_MAX};
use crate::model::cancel_reason::CancellingParent;
use crate::model::{ErrorDetails, EventKind};
use crate::providers::{InstanceOutcome, ProviderError, ProviderErrorKind};

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
            let caller = open.lineage.origin(execution_id, id);
            let call = CancellingParent(instance.to_owned(), caller, id);
            doomed(child, Some(call))
        }));
        Ok(children)
    }

    async fn terminate(&self, doomed: &Doomed) -> Result<Ended, ClientError> {
        let instance = &doomed.instance;
        for attempt in 0..HOLD_ATTEMPTS_MAX {
            let ended = match self.hold_open(instance).await {
                Ok(held) => self.end(doomed, &held).await,
                Err(ClientError::Provider(error)) if is_refusal(&error) => {
                    return self.refused(doomed, error).await;
                }
                Err(error) => return Err(error),
            };
            match ended {
                Err(ClientError::Provider(error)) if error.kind == ProviderErrorKind::LostLease => {
                    // Another call like this one has the instance.
                    sleep(hold_pause(instance, attempt)).await;
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
    async fn end(&self, doomed: &Doomed, held: &HeldOpen) -> Result<Ended, ClientError> {
        let cause = EndCause::Terminated(doomed.reason.clone());
        let ended = match &doomed.called_by {
            None => self.end_for(held, &cause).await?,
            // A parent that has ended needs no notice.
            Some(call) if held.parent() == Some(call) => self.end_held(held, &cause, None).await?,
            Some(_) => {
                self.release_held(held).await;
                return Ok(Ended::NotTheChild);
            }
        };
        Ok(Ended::Terminated { execution_id: ended.execution_id })
    }
}

/// How long a call pauses that has lost an instance to another one.
pub(super) fn hold_pause(instance: &str, attempt: u32) -> Duration {
    let pause = HOLD_PAUSE_MAX * attempt / HOLD_ATTEMPTS_MAX;
    let share = RandomState::new().hash_one(instance) % 1_000;
    pause.mul_f64(share as f64 / 1_000.0)
}

/// Whether the instance cannot be held for good.
fn is_refusal(error: &ProviderError) -> bool {
    matches!(error.kind, ProviderErrorKind::NotFound | ProviderErrorKind::Conflict)
}

/// Whether an instance needs no end: it is gone or has ended by itself.
pub(super) fn is_over(error: &ClientError) -> bool {
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
