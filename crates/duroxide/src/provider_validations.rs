//! The conformance suite: checks that a storage backend meets the provider contract.
//!
//! [`provider_conformance_tests!`] defines one test for each validation;
//! [`run_all_validations`] runs all of them and returns a report.

pub use duroxide_conformance::atomicity::*;
pub use duroxide_conformance::cancellation::*;
pub use duroxide_conformance::error_handling::*;
pub use duroxide_conformance::instance_creation::*;
pub use duroxide_conformance::instance_locking::*;
pub use duroxide_conformance::lock_expiration::*;
pub use duroxide_conformance::management::*;
pub use duroxide_conformance::multi_execution::*;
pub use duroxide_conformance::queue_semantics::*;
pub use duroxide_conformance::{
    Ability, Outcome, ProviderFactory, Report, Validation, ValidationFuture, all, bulk_deletion,
    capability_filtering, custom_status, deletion, extensions, kv_store, long_polling,
    poison_message, provider_conformance_tests, prune, race_replay, reference, run_all_validations,
    run_validation, sessions, tag_filtering,
};
