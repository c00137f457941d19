//! The data that all layers share. Data only: no clock, no I/O, no async.

#[cfg(feature = "replay-version-test")]
pub(crate) mod acting_version;
pub mod action;
pub mod attribute;
pub(crate) mod cancel_reason;
pub mod cancel_request;
pub mod codec;
pub mod edit;
pub mod either;
pub mod error;
pub mod event;
pub mod event_kind;
pub mod ids;
pub mod kv;
pub mod mended;
pub mod patch;
pub(crate) mod pins;
pub mod retry;
pub(crate) mod start;
pub mod stats;
pub mod status;
pub(crate) mod stored_attribute;
pub(crate) mod syscall;
pub(crate) mod utc;
pub mod work_item;

pub use action::{Action, CompletionResult, LogLevel, ScheduleKind};
pub use attribute::{AttributeValue, Attributes};
pub use cancel_request::CancelRequest;
pub use edit::InstanceEdit;
pub use either::{Either2, Either3};
pub(crate) use error::poison_with_reason;
pub use error::{AppErrorKind, ConfigErrorKind, ErrorDetails, PoisonMessageType};
pub use event::Event;
pub use event_kind::EventKind;
pub use ids::{
    INITIAL_EVENT_ID, INITIAL_EXECUTION_ID, SUB_ORCH_AUTO_PREFIX, build_child_instance_id,
    is_auto_generated_sub_orch_id, routing_key,
};
pub use kv::KvEntry;
pub use mended::MendMarker;
pub use patch::{PatchMarker, PatchState};
pub use retry::{BackoffStrategy, RetryPolicy};
pub use stats::SystemStats;
pub use status::{ExecutionStatus, OrchestrationStatus};
pub use work_item::WorkItem;
