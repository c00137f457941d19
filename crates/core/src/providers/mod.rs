//! The storage contract: what a backend must keep, and the types that cross the border.

pub mod admin;
mod announced_turns;
pub mod capabilities;
pub mod capability;
pub mod change;
mod cursor;
mod defaults;
mod description;
pub mod error;
#[cfg(test)]
pub(crate) mod fake;
pub mod fetch_filter;
pub mod forward;
pub mod handlers;
mod held_instance;
mod instance_copy;
mod instance_query;
mod instance_queues;
pub mod instrumented;
pub mod items;
pub mod kit;
mod lease_holder;
mod listed_query;
pub mod management;
mod management_provider;
mod message;
mod new_execution;
pub mod progress;
mod provider;
pub(crate) mod reports;
pub mod session;
mod stored_event;
pub mod stranded_turns;
mod suspension;
pub mod tag_filter;
pub mod trouble;
pub mod turn;
pub mod turn_state;
pub mod waiting_starts;
pub mod work;
pub mod workers;

pub use crate::clock::{Clock, ManualClock, SystemClock};
pub use crate::limits::{HELD_CANCELLATIONS_MAX, MAX_WORKER_TAGS, UNPINNED_VERSION};
pub use crate::model::{KvEntry, WorkItem};
pub use crate::{forward_provider, forward_provider_admin};
pub use admin::{HandlerVersionSpread, ProviderAdmin};
pub use announced_turns::AnnouncedTurns;
pub use capabilities::{ProviderCapabilities, ProviderCapability};
pub use capability::{DispatcherCapabilityFilter, SemverRange, current_build_version};
pub use change::{AwaitedEnd, ChangeHub, ChangeScope, ChangeWatch, InstanceEnd};
pub use cursor::ListCursor;
pub use description::StoreDescription;
pub use error::{ProviderError, ProviderErrorKind};
pub use fetch_filter::FetchFilter;
pub use handlers::{NeededCode, RegisteredActivities, RegisteredOrchestrations};
pub use held_instance::HeldInstance;
pub use instance_copy::{
    CopiedActivity, CopiedEvent, CopiedExecution, CopiedKey, CopiedMessage, CopiedMessageId,
    CopiedProgress, CopiedSuspension, CopySection, InstanceCopy, InstanceCopyQuery, InstanceHead,
};
pub use instance_query::{
    CountedInstances, InstanceCount, InstanceCountQuery, InstanceOrder, InstancePage,
    InstanceQuery, PagePlace,
};
pub use instance_queues::{
    InstanceQueues, InstanceQueuesQuery, QueuedActivity, QueuedMessage, QueuedMessages,
    SessionOwner, TurnLease,
};
pub use items::{
    ExecutionMetadata, InstanceOutcome, InstanceStatus, OrchestrationItem,
    ScheduledActivityIdentifier,
};
pub use lease_holder::{LeaseHolder, LeaseHolders};
pub use listed_query::{count_by_listing, query_by_listing};
pub use management::{
    DeleteInstanceResult, ExecutionInfo, InstanceFilter, InstanceInfo, InstanceTree, ParkedMessage,
    PruneOptions, PruneResult, QueueDepths, StoreGauges, SystemMetrics,
};
pub use management_provider::ManagementProvider;
pub use message::{ClientMessage, Delivery, MESSAGE_ID_WINDOW};
pub use new_execution::{ExpectedInstance, NewExecution};
pub use progress::ActivityProgress;
pub use provider::Provider;
pub use session::SessionFetchConfig;
pub use stored_event::{RawEvent, StoredEvent, StoredEventsQuery};
pub use stranded_turns::{StrandedTurnQuery, StrandedTurns, WaitingTurn};
pub use suspension::{
    SUSPENSION_RETRY_MAX, SUSPENSION_RETRY_MIN, SuspendedInstance, Suspension, SuspensionOrigin,
    suspension_retry_ms,
};
pub use tag_filter::TagFilter;
pub use trouble::{StoreHealth, StoreTrouble};
pub use turn::{
    CommittedTurn, DirectTurn, FetchedTurn, HistoryMark, KnownHistory, LeasedWork, TurnCommit,
    TurnFetch,
};
pub use turn_state::{DeferredHistory, TurnState};
pub use waiting_starts::{WaitingStart, WaitingStartQuery};
pub use work::{FetchedWork, OverdueFetch, ScheduledActivity, WorkFetch, WorkSlot};
pub use workers::{LiveWorker, WaitingWork, WaitingWorkQuery, WorkerAnnouncement};
