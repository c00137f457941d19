//! Children that are about to end: the execution that is mended has cancelled them.
//!
//! The cancellation was sent with the end of that execution and waits in the queue of the child. If
//! the child ran it after its parent is mended, the parent would get a failure that belongs to its
//! past. So the child ends first, in the same way, and is then retried with its parent.

use tokio::time::sleep;

use super::compose::Composed;
use super::source::conflict;
use crate::client::ending::EndCause;
use crate::client::termination::{hold_pause, is_over};
use crate::client::{Client, ClientError};
use crate::limits::{CANCELLED_CHILD_WAIT_MAX, HOLD_ATTEMPTS_MAX};
use crate::model::build_child_instance_id;
use crate::model::cancel_reason::CancellingParent;
use crate::model::mended::Lineage;
use crate::providers::{InstanceOutcome, ProviderErrorKind};

impl Client {
    /// Sees to it that the children that the old execution cancelled, and that the new one waits
    /// for, have ended. Returns the time of the last of these ends; zero if there is none.
    pub(super) async fn end_cancelled_children(
        &self,
        composed: &Composed,
    ) -> Result<u64, ClientError> {
        let plan = &composed.plan;
        let lineage = Lineage::of(&plan.history.events);
        let mut last_end_ms = 0;
        for (id, child) in composed.children.iter().filter(|(id, _)| composed.doomed.contains(id)) {
            let parent = plan.new_instance.clone();
            let child = build_child_instance_id(&parent, &child.instance);
            let caller = lineage.origin(plan.new_execution_id, *id);
            let call = CancellingParent(parent, caller, *id);
            self.end_cancelled_child(&child, &call).await?;
            if let InstanceOutcome::Ended(end) = self.provider().read_outcome(&child).await? {
                last_end_ms = last_end_ms.max(end.timestamp_ms);
            }
        }
        Ok(last_end_ms)
    }

    /// Ends a child for which a cancellation waits, as its node would.
    async fn end_cancelled_child(
        &self,
        child: &str,
        call: &CancellingParent,
    ) -> Result<(), ClientError> {
        for attempt in 0..HOLD_ATTEMPTS_MAX {
            let held = match self.hold_open(child).await {
                Ok(held) => held,
                Err(error) if is_over(&error) || is_unknown(&error) => return Ok(()),
                Err(error) => return Err(error),
            };
            let reason = held.cancellation().filter(|_| held.parent() == Some(call));
            let Some(reason) = reason else {
                self.release_held(&held).await;
                return Ok(());
            };
            if held.continues_as_new() {
                // Only a node can choose the version of its code.
                self.release_held(&held).await;
                return self.await_cancelled_child(child).await;
            }
            match self.end_held(&held, &EndCause::Cancelled(reason), None).await {
                Ok(_ended) => return Ok(()),
                Err(ClientError::Provider(error)) if error.kind == ProviderErrorKind::LostLease => {
                    sleep(hold_pause(child, attempt)).await;
                }
                Err(error) => return Err(error),
            }
        }
        Err(conflict(format!("other calls hold the child {child} again and again")))
    }

    async fn await_cancelled_child(&self, child: &str) -> Result<(), ClientError> {
        match self.wait_for_orchestration(child, CANCELLED_CHILD_WAIT_MAX).await {
            Ok(_ended) => Ok(()),
            Err(ClientError::Timeout) => Err(conflict(format!(
                "the child {child} was cancelled while it continued as new: repeat the call when a \
                 node has ended it"
            ))),
            Err(error) => Err(error),
        }
    }
}

fn is_unknown(error: &ClientError) -> bool {
    matches!(error, ClientError::Provider(error) if error.kind == ProviderErrorKind::NotFound)
}
