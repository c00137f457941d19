//! Removing old executions.

/// The validations of this category.
#[doc(hidden)]
#[macro_export]
macro_rules! __prune {
    ($callback:ident $context:tt) => {
        $crate::$callback! { $context prune
        }
    };
}
