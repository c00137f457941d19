//! The children that a mended instance waits for.
//!
//! The parent is stored first, so that it is there when they answer. What follows may be repeated:
//! an answer that arrives twice counts once, and so does a start.

use std::collections::{BTreeMap, BTreeSet};

use super::open::OpenChild;
use super::options::{MendOptions, MendPoint};
use super::plan::{ChildAct, ChildPlan};
use super::planning::Request;
use super::source::refused;
use crate::client::{Client, ClientError};
use crate::limits::MEND_DEPTH_MAX;
use crate::model::mended::Lineage;
use crate::model::start::{ParentCall, VERSION_UNKNOWN};
use crate::model::{
    ErrorDetails, Event, EventKind, INITIAL_EXECUTION_ID, WorkItem, build_child_instance_id,
};
use crate::providers::{InstanceOutcome, ProviderErrorKind};

/// An instance that waits for children.
pub(super) struct Waiting<'a> {
    pub(super) instance: &'a str,
    pub(super) execution_id: u64,
    pub(super) lineage: Lineage,
    /// Its calls without an answer.
    pub(super) children: &'a BTreeMap<u64, OpenChild>,
    /// Those whose children its old execution cancelled. `None` if they have ended.
    pub(super) doomed: Option<&'a BTreeSet<u64>>,
    /// When it was mended. What failed before is retried; what failed since has answered.
    pub(super) mended_at_ms: u64,
    pub(super) options: &'a MendOptions,
    pub(super) depth: usize,
}

/// How a child stands.
enum Standing {
    Missing,
    Runs,
    /// It failed before its first turn, and no node has chosen the version of its code.
    Unrun(Box<Event>),
    Ended(Box<Event>),
}

impl Client {
    /// What will happen to the children of an instance.
    pub(super) async fn plan_children(
        &self,
        waiting: &Waiting<'_>,
    ) -> Result<Vec<ChildPlan>, ClientError> {
        let mut plans = Vec::new();
        for (call, child) in waiting.children {
            let instance = build_child_instance_id(waiting.instance, &child.instance);
            let act = match self.standing(waiting, *call, &instance).await? {
                Standing::Missing => ChildAct::Start,
                Standing::Unrun(end) if waiting.retries(&end) => ChildAct::Start,
                Standing::Unrun(_) => ChildAct::Answer,
                Standing::Runs if !waiting.has_cancelled(*call) => ChildAct::Wait,
                Standing::Ended(end) if !waiting.retries(&end) => ChildAct::Answer,
                standing @ (Standing::Runs | Standing::Ended(_)) => {
                    let options = waiting.options.for_child();
                    let mut request = waiting.retry(&options)?;
                    request.is_doomed = matches!(standing, Standing::Runs);
                    let plan = Box::pin(self.plan_mending(&instance, request)).await?;
                    ChildAct::Retry(Box::new(plan))
                }
            };
            plans.push(ChildPlan { event_id: *call, instance, act });
        }
        Ok(plans)
    }

    /// Sees to it that every child answers.
    pub(super) async fn mend_children(
        &self,
        waiting: &Waiting<'_>,
    ) -> Result<Vec<ChildPlan>, ClientError> {
        let mut plans = Vec::new();
        for (call, child) in waiting.children {
            let instance = build_child_instance_id(waiting.instance, &child.instance);
            let act = match self.standing(waiting, *call, &instance).await? {
                Standing::Missing => {
                    self.send(waiting.start(*call, &instance, child)).await?;
                    ChildAct::Start
                }
                Standing::Unrun(end) if waiting.retries(&end) => {
                    self.delete_unrun(&instance).await?;
                    self.send(waiting.start(*call, &instance, child)).await?;
                    ChildAct::Start
                }
                Standing::Runs => ChildAct::Wait,
                Standing::Ended(end) if waiting.retries(&end) => {
                    let options = waiting.options.for_child();
                    let request = waiting.retry(&options)?;
                    let plan = Box::pin(self.mend_in_place(&instance, request)).await?;
                    ChildAct::Retry(Box::new(plan))
                }
                Standing::Unrun(end) | Standing::Ended(end) => {
                    if let Some(answer) = waiting.answer(*call, &end.kind) {
                        self.send(answer).await?;
                    }
                    ChildAct::Answer
                }
            };
            plans.push(ChildPlan { event_id: *call, instance, act });
        }
        Ok(plans)
    }

    async fn standing(
        &self,
        waiting: &Waiting<'_>,
        call: u64,
        child: &str,
    ) -> Result<Standing, ClientError> {
        let outcome = self.provider().read_outcome(child).await?;
        let start = self.provider().read_start_event(child).await?;
        let is_unrun = start.as_ref().is_some_and(|start| is_unrun(&start.kind));
        let caller = start.and_then(|start| ParentCall::of_event(&start.kind));
        // An explicit id may belong to an instance that is not the child of this call. Then the
        // start fails, as it did before.
        let is_child = caller.is_some_and(|caller| {
            let made = waiting.origin(call);
            caller.instance == waiting.instance
                && caller.id == call
                && caller.execution_id.is_none_or(|execution_id| execution_id == made)
        });
        Ok(match outcome {
            InstanceOutcome::Running if is_child => Standing::Runs,
            InstanceOutcome::Ended(end) if is_child && is_unrun => Standing::Unrun(end),
            InstanceOutcome::Ended(end) if is_child => Standing::Ended(end),
            InstanceOutcome::NotFound | InstanceOutcome::Running | InstanceOutcome::Ended(_) => {
                Standing::Missing
            }
        })
    }

    /// Deletes a child that never ran, so that it can be started again.
    async fn delete_unrun(&self, child: &str) -> Result<(), ClientError> {
        match self.admin()?.delete_instances_atomic(&[child.to_owned()], false).await {
            Err(error) if error.kind != ProviderErrorKind::NotFound => Err(error.into()),
            Ok(_) | Err(_) => Ok(()),
        }
    }
}

/// Whether an instance that ended had never run.
fn is_unrun(start: &EventKind) -> bool {
    matches!(start, EventKind::OrchestrationStarted { version, .. } if version == VERSION_UNKNOWN)
}

impl Waiting<'_> {
    /// The execution that made a call, which the child knows.
    fn origin(&self, call: u64) -> u64 {
        self.lineage.origin(self.execution_id, call)
    }

    fn has_cancelled(&self, call: u64) -> bool {
        self.doomed.is_some_and(|doomed| doomed.contains(&call))
    }

    fn retries(&self, end: &Event) -> bool {
        matches!(end.kind, EventKind::OrchestrationFailed { .. })
            && end.timestamp_ms <= self.mended_at_ms
    }

    fn retry<'o>(&self, options: &'o MendOptions) -> Result<Request<'o>, ClientError> {
        let depth = self.depth + 1;
        if depth > MEND_DEPTH_MAX {
            return Err(refused(format!(
                "children of {} are nested deeper than {MEND_DEPTH_MAX}",
                self.instance
            )));
        }
        let point = MendPoint::LastFailed;
        Ok(Request { point, fork: None, options, depth, is_doomed: false })
    }

    fn start(&self, call: u64, instance: &str, child: &OpenChild) -> WorkItem {
        WorkItem::StartOrchestration {
            instance: instance.to_owned(),
            orchestration: child.name.clone(),
            input: child.input.clone(),
            version: None,
            parent_instance: Some(self.instance.to_owned()),
            parent_id: Some(call),
            parent_execution_id: Some(self.origin(call)),
            execution_id: INITIAL_EXECUTION_ID,
        }
    }

    fn answer(&self, call: u64, end: &EventKind) -> Option<WorkItem> {
        let (parent_instance, parent_execution_id) = (self.instance.to_owned(), self.execution_id);
        if let EventKind::OrchestrationCompleted { output } = end {
            return Some(WorkItem::SubOrchCompleted {
                parent_instance,
                parent_execution_id,
                parent_id: call,
                result: output.clone(),
            });
        }
        let EventKind::OrchestrationFailed { details } = end else { return None };
        let details: ErrorDetails = details.clone();
        let parent_id = call;
        Some(WorkItem::SubOrchFailed { parent_instance, parent_execution_id, parent_id, details })
    }
}
