//! Decides whether an instance can be mended, and composes what continues it.

use super::compose::{Composed, Composition};
use super::cut::{Cut, NoCut};
use super::keys::StartKeys;
use super::options::{MendChildren, MendOptions, MendPoint};
use super::plan::{ChildAct, ChildPlan, MendPlan};
use super::source::{Source, conflict, refused};
use crate::client::{Client, ClientError};
use crate::histories::RecordedHistory;
use crate::model::{
    ExecutionStatus, INITIAL_EXECUTION_ID, build_child_instance_id, is_auto_generated_sub_orch_id,
};
use crate::providers::{InstanceOutcome, StoredEvent};

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request<'a> {
    pub(super) point: MendPoint,
    /// The id of the fork, if it is one.
    pub(super) fork: Option<&'a str>,
    pub(super) options: &'a MendOptions,
    /// How many parents are mended before it.
    pub(super) depth: usize,
    /// Its cancellation waits: it counts as cancelled.
    pub(super) is_doomed: bool,
}

impl<'a> Request<'a> {
    /// What a caller asks for.
    pub(super) fn new(point: MendPoint, fork: Option<&'a str>, options: &'a MendOptions) -> Self {
        Self { point, fork, options, depth: 0, is_doomed: false }
    }
}

impl MendPlan {
    /// What mending an execution would change, by its history alone. Children depend on the store,
    /// and so do keys of earlier executions, which the history brings along.
    ///
    /// # Errors
    /// When the execution cannot be mended in this way.
    pub fn of_history(
        history: &RecordedHistory,
        point: MendPoint,
        options: &MendOptions,
    ) -> Result<Self, ClientError> {
        let stored = history.events.iter();
        let stored = stored.map(|event| StoredEvent::Decoded(Box::new(event.clone())));
        let source = Source::new(&history.instance_id, history.execution_id, stored);
        let source = source.ok_or_else(|| refused("the history has no start".to_owned()))?;
        let cut = cut(&source, point)?;
        let composition = Composition {
            source: &source,
            cut: &cut,
            instance: &history.instance_id,
            execution_id: history.execution_id.saturating_add(1),
            options,
            keys: StartKeys { kv: history.kv.clone(), is_to_store: true },
            now_ms: history.events.last().map_or(0, |event| event.timestamp_ms),
        };
        let mut composed = composition.compose();
        let unknown = composed.calls().map(|(event_id, instance)| ChildPlan {
            event_id,
            instance,
            act: ChildAct::Unknown,
        });
        composed.plan.children = unknown.chain(composed.cancelled()).collect();
        Ok(composed.plan)
    }
}

impl Composed {
    /// The children that the kept events wait for, by their calls.
    pub(super) fn calls(&self) -> impl Iterator<Item = (u64, String)> + '_ {
        let parent = &self.plan.new_instance;
        let id = |(call, child): (&u64, &super::open::OpenChild)| {
            (*call, build_child_instance_id(parent, &child.instance))
        };
        self.children.iter().map(id)
    }

    /// The children that are no longer wanted.
    pub(super) fn cancelled(&self) -> Vec<ChildPlan> {
        let cancel = |(event_id, instance, _): &(u64, String, _)| ChildPlan {
            event_id: *event_id,
            instance: instance.clone(),
            act: ChildAct::Cancel,
        };
        self.cancels.iter().map(cancel).collect()
    }
}

impl Client {
    /// Composes what continues an execution, not before a time.
    pub(super) async fn compose(
        &self,
        source: &Source,
        request: &Request<'_>,
        not_before_ms: u64,
    ) -> Result<Composed, ClientError> {
        let instance = source.instance.as_str();
        if source.status() == ExecutionStatus::ContinuedAsNew {
            return Err(conflict(format!(
                "instance {instance} is between two executions; repeat the call when the next one \
                 has started"
            )));
        }
        let cut = match cut(source, request.point) {
            Err(_not_failed) if request.is_doomed => Cut::of_doomed(source),
            cut => cut?,
        };
        if let Some(id) = source.undecodable.iter().find(|id| **id <= cut.kept) {
            return Err(refused(format!(
                "event {id} of instance {instance} cannot be decoded by this build; keep only the \
                 events before it"
            )));
        }
        let execution_id = match request.fork {
            Some(_) => INITIAL_EXECUTION_ID,
            None => source.execution_id.saturating_add(1),
        };
        let composed = Composition {
            source,
            cut: &cut,
            instance: request.fork.unwrap_or(instance),
            execution_id,
            options: request.options,
            keys: self.start_keys(source, request.fork.is_some()).await?,
            now_ms: self.now_ms(source).max(not_before_ms),
        }
        .compose();
        check_children(&composed, request)?;
        if request.fork.is_none() && request.depth == 0 && !request.options.detached {
            self.require_waiting_parent(source).await?;
        }
        Ok(composed)
    }

    /// The time of the store. The clock of the node that wrote the last event may be ahead.
    fn now_ms(&self, source: &Source) -> u64 {
        let last = source.events.last().map_or(0, |event| event.timestamp_ms);
        self.provider().clock_of(&source.instance).now_ms().max(last)
    }

    /// A child is mended with its parent, or while the parent still waits for it.
    async fn require_waiting_parent(&self, source: &Source) -> Result<(), ClientError> {
        let Some(call) = source.parent() else { return Ok(()) };
        let is_waiting = match self.read_source(&call.instance).await {
            Ok(parent) => {
                let caller = call.execution_id.unwrap_or(parent.execution_id);
                let is_current =
                    caller == parent.execution_id || parent.lineage().covers(caller, call.id);
                let open = super::open::Open::of(&parent.events).children;
                parent.end().is_none() && is_current && open.contains_key(&call.id)
            }
            Err(ClientError::InstanceNotFound { .. }) => false,
            Err(error) => return Err(error),
        };
        match is_waiting {
            true => Ok(()),
            false => Err(refused(format!(
                "instance {} is a child of {}, which no longer waits for it: mend {} instead, or \
                 choose the option that detaches the child",
                source.instance, call.instance, call.instance
            ))),
        }
    }

    /// Refuses the id of a fork that exists. The store checks it again.
    pub(super) async fn require_new(&self, instance: &str) -> Result<(), ClientError> {
        match self.provider().read_outcome(instance).await? {
            InstanceOutcome::NotFound => Ok(()),
            InstanceOutcome::Running | InstanceOutcome::Ended(_) => {
                Err(conflict(format!("instance {instance} exists")))
            }
        }
    }
}

/// There is nothing to retry.
pub(super) fn not_failed(source: &Source) -> ClientError {
    let (instance, status) = (&source.instance, source.status());
    conflict(format!("instance {instance} has not failed: it is {status}"))
}

fn cut(source: &Source, point: MendPoint) -> Result<Cut, ClientError> {
    let instance = &source.instance;
    Cut::at(source, point).map_err(|none| match none {
        NoCut::NotFailed => not_failed(source),
        NoCut::NoEvent { last } => refused(format!(
            "execution {} of instance {instance} has no such event: choose one up to {last}",
            source.execution_id
        )),
    })
}

fn check_children(composed: &Composed, request: &Request<'_>) -> Result<(), ClientError> {
    if request.options.children == MendChildren::Refuse
        && let Some((call, child)) = composed.calls().next()
    {
        return Err(refused(format!(
            "event {call} waits for the child {child}: choose another event, or let children be \
             mended"
        )));
    }
    let explicit = composed.children.iter().find(|(_, child)| {
        request.fork.is_some() && !is_auto_generated_sub_orch_id(&child.instance)
    });
    match explicit {
        Some((call, child)) => Err(refused(format!(
            "event {call} waits for the child {}, whose id the code has chosen, so that a fork \
             cannot have its own: choose another event",
            child.instance
        ))),
        None => Ok(()),
    }
}
