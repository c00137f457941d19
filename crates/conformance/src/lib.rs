//! Validations that a storage backend keeps the provider contract of Duroxide.
//!
//! Write a [`ProviderFactory`] and put one line into a test file:
//! `duroxide_conformance::provider_conformance_tests!(MyFactory::new());` generates a test for
//! every validation. [`run_all_validations`] runs all of them in one call and reports every failure
//! by name.
//!
//! Each category is a module; its list of validations is at the end of its file.

pub mod atomicity;
pub mod bulk_deletion;
pub mod cancellation;
pub mod capability_filtering;
mod catalogue;
pub mod custom_status;
pub mod deletion;
pub mod error_handling;
pub mod extensions;
mod factory;
pub mod instance_creation;
pub mod instance_locking;
pub mod kv_store;
mod limits;
pub mod lock_expiration;
pub mod long_polling;
pub mod management;
pub mod multi_execution;
pub mod poison_message;
pub mod prune;
pub mod queue_semantics;
pub mod race_replay;
pub mod reference;
mod report;
mod run;
pub mod sessions;
pub mod stress;
mod support;
pub mod tag_filtering;
mod test_macro;

pub use catalogue::{Validation, ValidationFuture, all};
pub use factory::{Ability, ProviderFactory};

/// For the macros of this crate.
#[doc(hidden)]
pub mod __private {
    pub use duroxide_core::providers::ProviderCapability;
}
pub use report::{Outcome, Report};
pub use run::{run_all_validations, run_validation};
