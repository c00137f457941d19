//! An activity under a lease of this node.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tracing::{error, warn};

use super::report::{self, Stored};
use super::running::Registered;
use super::{Activities, EarlierTry};
use crate::limits::VOUCHED_PER_ATTEMPT;
use crate::model::{ErrorDetails, PoisonMessageType, WorkItem, poison_with_reason};
use crate::providers::{FetchedWork, ProviderError, ScheduledActivityIdentifier};
use crate::runtime::lease::{Lease, Leased, NewLease};
use crate::runtime::node::Node;
use crate::runtime::storage_retry::{log_unreleased, retry_while_leased};
use crate::runtime::{kind_of, poison_text};

/// What is to be run.
#[derive(Debug, Clone)]
pub(crate) struct Work {
    pub(super) id: ScheduledActivityIdentifier,
    pub(super) name: String,
    pub(super) input: String,
    pub(super) session_id: Option<String>,
    pub(super) tag: Option<String>,
}

/// An activity under a lease of this node.
pub(crate) struct LeasedActivity {
    pub(super) activities: Arc<Activities>,
    pub(super) worker_id: String,
    pub(super) lease: Lease,
    pub(super) lock_token: String,
    pub(super) attempt_count: u32,
    /// The last progress that an earlier attempt reported.
    pub(super) progress: Option<String>,
    pub(super) registered: Registered,
}

/// Registers a fetched activity and renews its lease from now on.
///
/// Not `async`, so that a caller can do it before it starts a task: the executor may be too busy to
/// run the task before the lease expires.
pub(crate) fn claim(
    activities: &Arc<Activities>,
    worker_id: String,
    fetched: FetchedWork,
) -> Result<(LeasedActivity, Work), ForeignMessage> {
    let work = match Work::of(fetched.item) {
        Ok(work) => work,
        Err(message) => {
            return Err(ForeignMessage { lock_token: fetched.lock_token, message });
        }
    };
    let registered = activities.running.register(work.id.clone(), fetched.lock_token.clone());
    let lease = activities.node.keep(NewLease {
        leased: Leased::Activity,
        token: fetched.lock_token.clone(),
        length: activities.node.options.worker_lock_timeout,
        since: fetched.leased_at,
        // A lost lease and a cancellation have the same effect: the result is unwanted.
        lost: registered.unwanted.clone(),
        doubtful: registered.doubtful,
    });
    let leased = LeasedActivity {
        activities: Arc::clone(activities),
        worker_id,
        lease,
        lock_token: fetched.lock_token,
        attempt_count: fetched.attempt_count,
        progress: fetched.progress,
        registered,
    };
    Ok((leased, work))
}

/// A message of the worker queue that is not an activity.
pub(crate) struct ForeignMessage {
    lock_token: String,
    message: Box<WorkItem>,
}

impl ForeignMessage {
    /// Removes it. The queue would otherwise redeliver it for ever.
    pub(crate) async fn remove(self, node: &Node) {
        error!(
            target: "duroxide::runtime",
            message = kind_of(&self.message),
            instance_id = self.message.target_instance(),
            "the worker queue holds a message that is not an activity; removing it"
        );
        log_unreleased("message", node.provider.ack_work_item(&self.lock_token, None).await);
    }
}

impl LeasedActivity {
    pub(super) fn node(&self) -> &Node {
        &self.activities.node
    }

    /// Whether it was fetched too often. A lease whose holder vouched for the activity does not
    /// count, but for one in ten: such a node was killed, paused or cut off.
    pub(super) async fn is_poison(&self) -> bool {
        let attempts_max = self.node().attempts_max();
        if self.attempt_count <= attempts_max {
            return false;
        }
        let (provider, token) = (&self.node().provider, &self.lock_token);
        let vouched = retry_while_leased("vouch_for_work_item", &self.lease, || {
            provider.vouch_for_work_item(token, 0)
        })
        .await;
        match vouched {
            Ok(vouched) => {
                let innocent = vouched - vouched / VOUCHED_PER_ATTEMPT;
                self.attempt_count.saturating_sub(innocent) > attempts_max
            }
            // Nothing can be stored under a lost lease.
            Err(_lost) => true,
        }
    }

    /// Releases an activity whose handler has run.
    pub(super) async fn release(&self, delay: Duration, ignore_attempt: bool) {
        let (provider, token) = (&self.node().provider, &self.lock_token);
        self.release_by("abandon_work_item", || {
            provider.abandon_work_item(token, Some(delay), ignore_attempt)
        })
        .await;
    }

    /// Releases an activity whose handler has not run.
    pub(super) async fn release_unstarted(&self, delay: Duration, ignore_attempt: bool) {
        let (provider, token) = (&self.node().provider, &self.lock_token);
        self.release_by("return_unstarted_work_item", || {
            provider.return_unstarted_work_item(token, Some(delay), ignore_attempt)
        })
        .await;
    }

    async fn release_by<F>(&self, operation: &'static str, call: impl FnMut() -> F)
    where
        F: Future<Output = Result<(), ProviderError>>,
    {
        let released = retry_while_leased(operation, &self.lease, call).await;
        log_unreleased("activity", released);
    }

    pub(super) async fn release_unregistered(&self, work: &Work) {
        self.node().metrics().record_passed_over("activity", "handler");
        let options = &self.node().options;
        let delay = options.unregistered_backoff.delay(self.attempt_count);
        warn!(
            target: "duroxide::runtime",
            instance_id = %work.id.instance,
            activity_name = %work.name,
            activity_id = work.id.activity_id,
            worker_id = %self.worker_id,
            attempt_count = self.attempt_count,
            max_attempts = options.max_attempts,
            remaining_attempts = options.max_attempts.saturating_sub(self.attempt_count),
            backoff_secs = delay.as_secs_f64(),
            "activity is not registered on this node; releasing it"
        );
        self.release_unstarted(delay, false).await;
    }

    /// Releases it for any node, at once: its handler was not called.
    pub(crate) async fn return_at_once(&self) {
        self.release_unstarted(Duration::ZERO, true).await;
    }

    /// Fails it because no live node can run it.
    pub(crate) async fn fail_stranded(&self, work: &Work, details: ErrorDetails) {
        error!(
            target: "duroxide::runtime",
            instance_id = %work.id.instance,
            activity_name = %work.name,
            activity_id = work.id.activity_id,
            error = details.display_message(),
            "no live node can run an activity, for too long; failing it"
        );
        let _report = self.node().reports.announce(&work.id.instance);
        let failed = report::failed(work, details);
        if report::store(self, failed, EarlierTry::None).await == Stored::Durable {
            self.node().metrics().record_activity_config_error();
            self.node().metrics().record_stranded_failed("activity");
        }
    }

    pub(super) async fn poison(&self, work: Work) {
        let max_attempts = self.node().options.max_attempts;
        error!(
            target: "duroxide::runtime",
            instance_id = %work.id.instance,
            activity_name = %work.name,
            activity_id = work.id.activity_id,
            attempt_count = self.attempt_count,
            max_attempts,
            "activity was fetched too often; failing it"
        );
        let is_missing = self.node().handlers.activity(&work.name).is_none();
        let reason =
            is_missing.then(|| format!("activity '{}' is not registered on this node", work.name));
        let message = poison_text::of_message(&work.as_message());
        let details = ErrorDetails::Poison {
            attempt_count: self.attempt_count,
            max_attempts,
            message_type: PoisonMessageType::Activity {
                instance: work.id.instance.clone(),
                execution_id: work.id.execution_id,
                activity_name: work.name.clone(),
                activity_id: work.id.activity_id,
            },
            message: poison_with_reason(reason, message),
        };
        let _report = self.node().reports.announce(&work.id.instance);
        let failed = report::failed(&work, details);
        if report::store(self, failed, EarlierTry::None).await == Stored::Durable {
            self.node().metrics().record_activity_poison();
        }
    }
}

impl Work {
    pub(crate) fn id(&self) -> &ScheduledActivityIdentifier {
        &self.id
    }

    fn of(message: WorkItem) -> Result<Self, Box<WorkItem>> {
        let WorkItem::ActivityExecute { instance, execution_id, id, name, input, session_id, tag } =
            message
        else {
            return Err(Box::new(message));
        };
        let id = ScheduledActivityIdentifier { instance, execution_id, activity_id: id };
        Ok(Self { id, name, input, session_id, tag })
    }

    /// The message that it came from.
    fn as_message(&self) -> WorkItem {
        WorkItem::ActivityExecute {
            instance: self.id.instance.clone(),
            execution_id: self.id.execution_id,
            id: self.id.activity_id,
            name: self.name.clone(),
            input: self.input.clone(),
            session_id: self.session_id.clone(),
            tag: self.tag.clone(),
        }
    }
}
