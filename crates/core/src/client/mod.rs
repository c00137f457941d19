//! Asks: starts, signals, reads and mends instances through a provider.

pub(crate) mod bulk;
mod cancel_request;
mod deliver;
mod edit;
mod ending;
mod error;
mod handle;
mod held;
mod inspect;
mod kv;
mod live_nodes;
mod mend;
mod open_calls;
mod policy;
mod progress;
mod query;
mod raw_history;
mod retention;
mod signal;
mod start;
mod status;
mod stranded;
mod stranded_scan;
mod suspension;
mod termination;
#[cfg(test)]
mod tests;
mod transfer;
mod typed;
mod unserved;
mod unstarted;
mod wait;
mod waiting_for;
pub mod why;

pub use bulk::{
    BulkAct, BulkOutcome, BulkOutcomes, BulkPhase, BulkPlan, BulkProgress, BulkRequest, BulkResult,
    BulkTarget,
};
pub use edit::{EditPlan, StateChange};
pub(crate) use ending::EndCause;
pub use error::ClientError;
pub use handle::Client;
pub(crate) use held::{EndedInstance, HeldOpen};
pub(crate) use live_nodes::LiveNodes;
pub use live_nodes::StrandedReason;
pub use mend::{
    ActivityToRun, ChildAct, ChildPlan, DroppedEvent, LaterMessages, LaterResults, MendChildren,
    MendOptions, MendPlan, MendPoint, ReappliedEvent, SetTimer,
};
pub use policy::{
    ArchivedInstance, RetentionArchive, RetentionPlan, RetentionPolicy, RetentionReport,
    RetentionRule, RulePlan,
};
pub use start::{StartRequest, Started};
pub use stranded::{StrandedItem, StrandedWork, StrandedWorkPage, StrandedWorkQuery};
pub(crate) use stranded_scan::{Found, Place, scan};
pub use transfer::{ExportReport, ExportRequest, ExportSelection, ImportReport};
pub use typed::InstanceHandle;
pub use unserved::{UnservedReason, UnservedWork};
pub use unstarted::{UnstartedInstance, UnstartedReason};
pub use why::Why;
