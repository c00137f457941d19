//! One activity from its lease to its result.

use std::sync::Arc;
use std::time::Duration;

use super::leased_activity::{ForeignMessage, LeasedActivity, Work, claim};
use super::overdue::overdue_failure;
use super::{Activities, Admission, FinishedActivity, run};
use crate::limits::WORK_RETURN_DELAY;
use crate::providers::FetchedWork;
use crate::runtime::ActivityHandler;
use crate::runtime::slots::Slot;

/// What to do with a leased activity.
enum Decision {
    /// No worker started it within this limit.
    FailOverdue(Duration),
    /// Its session would be one more than this node may serve.
    ReleaseSession,
    /// It was fetched too often.
    Poison,
    /// This node does not have the handler.
    ReleaseUnregistered,
    Run(Arc<dyn ActivityHandler>),
}

/// An activity that this node is done with, but for the delivery of its result.
pub(crate) struct Processed {
    /// `None` if the handler did not run here and there is no result.
    pub(crate) ended: Option<Ended>,
    /// To be dropped before the slot. `None` if the activity has no session.
    pub(crate) session: Option<Admission>,
}

/// What became of an activity.
#[expect(clippy::large_enum_variant, reason = "a box would cost an allocation per activity")]
pub(crate) enum Ended {
    /// It has a result that is not stored yet.
    Finished(FinishedActivity),
    /// It ran for this long, but its result is unwanted.
    Unwanted { name: String, took: Duration },
}

impl Ended {
    /// The activity and how long its handler ran, if it ran.
    pub(crate) fn handler_time(&self) -> Option<(&str, Duration)> {
        match self {
            Self::Finished(finished) => {
                finished.took.map(|took| (finished.work.name.as_str(), took))
            }
            Self::Unwanted { name, took } => Some((name, *took)),
        }
    }
}

/// An activity that a slot has claimed, or what was in its place.
pub(crate) struct Claimed {
    claim: Result<(LeasedActivity, Work), ForeignMessage>,
    /// The limit that was over before any worker started it.
    overdue: Option<Duration>,
}

/// Claims a fetched activity for a slot: its lease is renewed from now on.
pub(crate) fn claim_for_slot(
    activities: &Arc<Activities>,
    slot: &Slot,
    fetched: FetchedWork,
) -> Claimed {
    let overdue = fetched.overdue;
    Claimed { claim: claim(activities, activities.worker_id(slot.index), fetched), overdue }
}

/// Runs one activity in a slot. `None` if the message was not an activity.
pub(crate) async fn process(
    activities: &Arc<Activities>,
    slot: &Slot,
    claimed: Claimed,
) -> Option<Processed> {
    let overdue = claimed.overdue;
    let (leased, work) = match claimed.claim {
        Ok(claimed) => claimed,
        Err(foreign) => {
            foreign.remove(&activities.node).await;
            return None;
        }
    };
    let session = work.session_id.as_deref().map(|session| activities.sessions.enter(session));
    if session.is_some() && activities.node.options.worker_node_id.is_none() {
        activities.slots.own_session(slot.index);
    }
    let decision = match overdue {
        Some(limit) => Decision::FailOverdue(limit),
        None => decide(&leased, &work, session.as_ref()).await,
    };
    let ended = match decision {
        Decision::FailOverdue(limit) => Some(Ended::Finished(overdue_failure(leased, work, limit))),
        Decision::ReleaseSession => {
            leased.release_unstarted(WORK_RETURN_DELAY, true).await;
            None
        }
        Decision::Poison => {
            leased.poison(work).await;
            None
        }
        Decision::ReleaseUnregistered => {
            leased.release_unregistered(&work).await;
            None
        }
        Decision::Run(handler) => Some(run::run(leased, work, handler).await),
    };
    Some(Processed { ended, session })
}

async fn decide(leased: &LeasedActivity, work: &Work, session: Option<&Admission>) -> Decision {
    if matches!(session, Some(Admission::OverLimit)) {
        return Decision::ReleaseSession;
    }
    if leased.is_poison().await {
        return Decision::Poison;
    }
    let handler = leased.node().handlers.activity(&work.name);
    handler.map_or(Decision::ReleaseUnregistered, Decision::Run)
}
