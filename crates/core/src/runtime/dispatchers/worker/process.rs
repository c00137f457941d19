//! One activity from fetch to report.

use std::sync::Arc;
use std::time::Duration;

use tracing::{error, warn};

use super::finished::{Finished, Offered};
use super::handover::{Assignment, Stint};
use super::report::Stored;
use super::running::Registered;
use super::{overdue, report, run};
use crate::limits::WORK_RETURN_DELAY;
use crate::model::{ErrorDetails, PoisonMessageType, WorkItem};
use crate::providers::{FetchedWork, ProviderError, ScheduledActivityIdentifier};
use crate::runtime::dispatchers::orchestration::take_direct_turns;
use crate::runtime::dispatchers::returning::{log_unreturned, persist};
use crate::runtime::lease::{Lease, Leased, NewLease};
use crate::runtime::node::Node;
use crate::runtime::slots::Slot;
use crate::runtime::{ActivityHandler, kind_of};

/// What is to be run.
#[derive(Debug, Clone)]
pub(super) struct Work {
    pub(super) id: ScheduledActivityIdentifier,
    pub(super) name: String,
    pub(super) input: String,
    pub(super) session_id: Option<String>,
    pub(super) tag: Option<String>,
}

/// An activity in hand.
pub(super) struct InHand {
    pub(super) node: Arc<Node>,
    pub(super) worker_id: String,
    pub(super) lease: Lease,
    pub(super) lock_token: String,
    pub(super) attempt_count: u32,
    /// What an earlier attempt has last reported.
    pub(super) progress: Option<String>,
    pub(super) registered: Registered,
}

/// What to do with a fetched activity.
enum Decision {
    /// Nobody started it within this limit.
    FailOverdue(Duration),
    /// One session more than this node may have.
    GiveBackSession,
    /// It was tried often enough.
    Poison,
    /// This node does not have the handler.
    GiveBackUnregistered,
    Run(Arc<dyn ActivityHandler>),
}

/// Runs one activity; the answer is what the same slot runs next.
pub(super) async fn process(node: &Arc<Node>, assignment: Assignment) -> Option<Assignment> {
    let Assignment { slot, fetched, stint } = assignment;
    let overdue = fetched.overdue;
    let (in_hand, work) = take(node, node.worker_id(slot.index), fetched).await?;
    let session = work.session_id.as_deref().map(|session| node.sessions.enter(session));
    if session.is_some() && node.options.worker_node_id.is_none() {
        slot.own_session();
    }
    let decision = match overdue {
        Some(limit) => Decision::FailOverdue(limit),
        None => in_hand.decide(&work, matches!(session, Some(None))),
    };
    let finished = match decision {
        Decision::FailOverdue(limit) => Some(overdue::judge(in_hand, work, limit)),
        Decision::GiveBackSession => {
            in_hand.give_back_unstarted(WORK_RETURN_DELAY, true).await;
            None
        }
        Decision::Poison => {
            in_hand.poison(work).await;
            None
        }
        Decision::GiveBackUnregistered => {
            in_hand.give_back_unregistered(&work).await;
            None
        }
        Decision::Run(handler) => run::run(in_hand, work, handler).await,
    };
    if session.is_none() {
        return finish(node, finished?, Some((slot, stint))).await;
    }
    let next = match finished {
        Some(finished) => finish(node, finished, None).await,
        None => None,
    };
    drop((session, slot));
    node.sessions.note_freed();
    next
}

/// Keeps the lease of a fetched activity from now on; `None` if it is none, and removed.
pub(super) async fn take(
    node: &Arc<Node>,
    worker_id: String,
    fetched: FetchedWork,
) -> Option<(InHand, Work)> {
    let work = match Work::of(fetched.item) {
        Ok(work) => work,
        Err(message) => {
            remove_foreign(node, &fetched.lock_token, &message).await;
            return None;
        }
    };
    let registered = node.running.register(work.id.clone(), fetched.lock_token.clone());
    let lease = node.keep(NewLease {
        leased: Leased::Activity,
        token: fetched.lock_token.clone(),
        length: node.options.worker_lock_timeout,
        // A lost lease and a cancellation are the same to whoever runs the activity.
        lost: registered.unwanted.clone(),
        doubtful: registered.doubtful,
    });
    let in_hand = InHand {
        node: Arc::clone(node),
        worker_id,
        lease,
        lock_token: fetched.lock_token,
        attempt_count: fetched.attempt_count,
        progress: fetched.progress,
        registered,
    };
    Some((in_hand, work))
}

/// Brings the end of an activity to its orchestration: directly while the instance is warm here,
/// through the queue otherwise.
pub(super) async fn finish(
    node: &Arc<Node>,
    finished: Finished,
    own: Option<(Slot, Stint)>,
) -> Option<Assignment> {
    let may_lead = node.takes_direct_turns() && node.warm.is_ready(finished.instance());
    match node.finished.offer(finished, may_lead) {
        Offered::Lead(leading) => take_direct_turns(node, leading, own).await,
        Offered::Joined => node.ahead.next(node, own),
        Offered::Declined(finished) => {
            finished.enqueue().await;
            node.ahead.next(node, own)
        }
    }
}

impl InHand {
    fn decide(&self, work: &Work, session_too_many: bool) -> Decision {
        if session_too_many {
            return Decision::GiveBackSession;
        }
        if self.attempt_count > self.node.options.max_attempts {
            return Decision::Poison;
        }
        self.node.activity(&work.name).map_or(Decision::GiveBackUnregistered, Decision::Run)
    }

    pub(super) async fn give_back(&self, delay: Duration, ignore_attempt: bool) {
        let (provider, token) = (&self.node.provider, &self.lock_token);
        self.hand_back("abandon_work_item", || {
            provider.abandon_work_item(token, Some(delay), ignore_attempt)
        })
        .await;
    }

    /// Gives back what this node could not begin with.
    async fn give_back_unstarted(&self, delay: Duration, ignore_attempt: bool) {
        let (provider, token) = (&self.node.provider, &self.lock_token);
        self.hand_back("return_unstarted_work_item", || {
            provider.return_unstarted_work_item(token, Some(delay), ignore_attempt)
        })
        .await;
    }

    async fn hand_back<F>(&self, operation: &'static str, call: impl FnMut() -> F)
    where
        F: Future<Output = Result<(), ProviderError>>,
    {
        let length = self.node.options.worker_lock_timeout;
        log_unreturned("activity", persist(operation, &self.lease, length, call).await);
    }

    async fn give_back_unregistered(&self, work: &Work) {
        let options = &self.node.options;
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
            "activity is not registered on this node; it is given back"
        );
        self.give_back_unstarted(delay, false).await;
    }

    async fn poison(&self, work: Work) {
        error!(
            target: "duroxide::runtime",
            instance_id = %work.id.instance,
            activity_name = %work.name,
            activity_id = work.id.activity_id,
            attempt_count = self.attempt_count,
            max_attempts = self.node.options.max_attempts,
            "activity failed: it was tried too often"
        );
        let details = ErrorDetails::Poison {
            attempt_count: self.attempt_count,
            max_attempts: self.node.options.max_attempts,
            message_type: PoisonMessageType::Activity {
                instance: work.id.instance.clone(),
                execution_id: work.id.execution_id,
                activity_name: work.name.clone(),
                activity_id: work.id.activity_id,
            },
            message: work.as_json(),
        };
        if report::store(self, report::failed(&work, details)).await == Stored::Durable {
            self.node.metrics().record_activity_poison();
        }
    }
}

/// Removes a message that cannot be run. It would otherwise come back for ever.
async fn remove_foreign(node: &Node, lock_token: &str, message: &WorkItem) {
    error!(
        target: "duroxide::runtime",
        message = kind_of(message),
        instance_id = message.target_instance(),
        "the worker queue holds a message that is not an activity; it is removed"
    );
    log_unreturned("message", node.provider.ack_work_item(lock_token, None).await);
}

impl Work {
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
    fn as_json(&self) -> String {
        let message = WorkItem::ActivityExecute {
            instance: self.id.instance.clone(),
            execution_id: self.id.execution_id,
            id: self.id.activity_id,
            name: self.name.clone(),
            input: self.input.clone(),
            session_id: self.session_id.clone(),
            tag: self.tag.clone(),
        };
        serde_json::to_string(&message).unwrap_or_else(|error| error.to_string())
    }
}
