//! The list of all validations, assembled from the list at the end of each category.
//!
//! A list is a macro with a callback, so that the catalogue and the tests come from the same lines:
//! `name;` or `name needs(ability, …);`. A function that does not take a factory names a wrapper
//! that does: `name via wrapper;`.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use crate::{Ability, ProviderFactory};

/// A running validation. It panics when the provider breaks the contract.
pub type ValidationFuture<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// One promise of the contract as a test.
#[derive(Clone, Copy)]
pub struct Validation {
    /// Module that the function is in.
    pub category: &'static str,
    /// Name of the function.
    pub name: &'static str,
    /// What the backend and its factory must support.
    pub needs: &'static [Ability],
    /// Runs the validation on its own store.
    pub run: for<'a> fn(&'a dyn ProviderFactory) -> ValidationFuture<'a>,
}

impl fmt::Debug for Validation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Validation")
            .field("category", &self.category)
            .field("name", &self.name)
            .field("needs", &self.needs)
            .finish_non_exhaustive()
    }
}

/// All validations, category by category.
pub fn all() -> Vec<Validation> {
    let mut found = Vec::new();
    crate::__each_category! { __catalogue_entries found }
    found
}

/// Calls each list of a category with a callback and its context.
#[doc(hidden)]
#[macro_export]
macro_rules! __each_category {
    ($($callback:tt)*) => {
        $crate::__instance_creation! { $($callback)* }
        $crate::__atomicity! { $($callback)* }
        $crate::__error_handling! { $($callback)* }
        $crate::__instance_locking! { $($callback)* }
        $crate::__lock_expiration! { $($callback)* }
        $crate::__multi_execution! { $($callback)* }
        $crate::__queue_semantics! { $($callback)* }
        $crate::__management! { $($callback)* }
        $crate::__cancellation! { $($callback)* }
        $crate::__long_polling! { $($callback)* }
        $crate::__poison_message! { $($callback)* }
        $crate::__deletion! { $($callback)* }
        $crate::__prune! { $($callback)* }
        $crate::__bulk_deletion! { $($callback)* }
        $crate::__capability_filtering! { $($callback)* }
        $crate::__sessions! { $($callback)* }
        $crate::__custom_status! { $($callback)* }
        $crate::__tag_filtering! { $($callback)* }
        $crate::__kv_store! { $($callback)* }
        $crate::__race_replay! { $($callback)* }
        $crate::__extensions! { $($callback)* }
    };
}

/// Adds the validations of one category to a list.
#[doc(hidden)]
#[macro_export]
macro_rules! __catalogue_entries {
    (
        $found:ident $category:ident
        $($name:ident $(needs($($ability:ident),+))? $(via $wrapper:ident)?;)*
    ) => {
        $found.extend_from_slice(&[$($crate::Validation {
            category: stringify!($category),
            name: stringify!($name),
            needs: &[$($($crate::__ability!($ability)),+)?],
            run: $crate::__runner!($category $name $($wrapper)?),
        }),*]);
    };
}

/// The ability behind a word.
#[doc(hidden)]
#[macro_export]
macro_rules! __ability {
    (corruption) => {
        $crate::Ability::Corruption
    };
    (attempt_counts) => {
        $crate::Ability::AttemptCounts
    };
    (management) => {
        $crate::Ability::Management
    };
    (waiting) => {
        $crate::Ability::Provider($crate::__private::ProviderCapability::Waiting)
    };
    (watching) => {
        $crate::Ability::Provider($crate::__private::ProviderCapability::Watching)
    };
    (progress) => {
        $crate::Ability::Provider($crate::__private::ProviderCapability::Progress)
    };
    (start_limits) => {
        $crate::Ability::Provider($crate::__private::ProviderCapability::StartLimits)
    };
    (workers) => {
        $crate::Ability::Provider($crate::__private::ProviderCapability::Workers)
    };
    (work_leases) => {
        $crate::Ability::Provider($crate::__private::ProviderCapability::WorkLeases)
    };
    (direct_turns) => {
        $crate::Ability::Provider($crate::__private::ProviderCapability::DirectTurns)
    };
    (lease_holders) => {
        $crate::Ability::Provider($crate::__private::ProviderCapability::LeaseHolders)
    };
    (reclaiming) => {
        $crate::Ability::Provider($crate::__private::ProviderCapability::Reclaiming)
    };
    (code_filter) => {
        $crate::Ability::Provider($crate::__private::ProviderCapability::CodeFilter)
    };
    (suspension) => {
        $crate::Ability::Provider($crate::__private::ProviderCapability::Suspension)
    };
    (activity_filter) => {
        $crate::Ability::Provider($crate::__private::ProviderCapability::ActivityFilter)
    };
    (holding) => {
        $crate::Ability::Provider($crate::__private::ProviderCapability::Holding)
    };
    (instance_queues) => {
        $crate::Ability::Provider($crate::__private::ProviderCapability::InstanceQueues)
    };
    (start_attributes) => {
        $crate::Ability::Provider($crate::__private::ProviderCapability::StartAttributes)
    };
    (queries) => {
        $crate::Ability::Provider($crate::__private::ProviderCapability::Queries)
    };
    (reopening) => {
        $crate::Ability::Provider($crate::__private::ProviderCapability::Reopening)
    };
    (transfer) => {
        $crate::Ability::Provider($crate::__private::ProviderCapability::Transfer)
    };
    (message_ids) => {
        $crate::Ability::Provider($crate::__private::ProviderCapability::MessageIds)
    };
    (bounded_turns) => {
        $crate::Ability::Provider($crate::__private::ProviderCapability::BoundedTurns)
    };
    (vouching) => {
        $crate::Ability::Provider($crate::__private::ProviderCapability::Vouching)
    };
    (new_starts) => {
        $crate::Ability::Provider($crate::__private::ProviderCapability::NewStarts)
    };
}

/// The function, or the wrapper that takes a factory.
#[doc(hidden)]
#[macro_export]
macro_rules! __runner {
    ($category:ident $name:ident) => {
        |factory| Box::pin($crate::$category::$name(factory))
    };
    ($category:ident $name:ident $wrapper:ident) => {
        |factory| Box::pin($crate::$category::$wrapper(factory))
    };
}
