//! The one list of all validations, put together from the list at the end of each category.
//!
//! A list is a macro that calls back, so that the catalogue and the tests come from the same
//! lines: `name;` or `name needs(ability, …);`. A function that takes something else than a
//! factory names a wrapper that takes one: `name via wrapper;`.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use crate::{Ability, ProviderFactory};

/// A running validation. It panics when the contract is broken.
pub type ValidationFuture<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// One promise of the contract that can be put to the test.
#[derive(Clone, Copy)]
pub struct Validation {
    /// Module that the function is in.
    pub category: &'static str,
    /// Name of the function.
    pub name: &'static str,
    /// What backend and factory must offer.
    pub needs: &'static [Ability],
    /// Puts it to the test on a store of its own.
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
        $crate::Ability::Waiting
    };
    (watching) => {
        $crate::Ability::Watching
    };
    (progress) => {
        $crate::Ability::Progress
    };
    (start_limits) => {
        $crate::Ability::StartLimits
    };
    (workers) => {
        $crate::Ability::Workers
    };
    (work_leases) => {
        $crate::Ability::WorkLeases
    };
    (direct_turns) => {
        $crate::Ability::DirectTurns
    };
}

/// The function, or the wrapper that gives it what it takes.
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
