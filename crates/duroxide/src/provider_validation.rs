//! The conformance suite, one module for each category.

pub use duroxide_conformance::{
    ProviderFactory, atomicity, bulk_deletion, cancellation, capability_filtering, custom_status,
    deletion, error_handling, extensions, instance_creation, instance_locking, kv_store,
    lock_expiration, long_polling, management, multi_execution, poison_message, prune,
    queue_semantics, race_replay, sessions, tag_filtering,
};
pub use duroxide_core::providers::ExecutionMetadata;
pub use duroxide_core::{Event, EventKind};
