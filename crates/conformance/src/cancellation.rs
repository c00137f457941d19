//! Activities that are no longer wanted, and those that still are.

/// The validations of this category.
#[doc(hidden)]
#[macro_export]
macro_rules! __cancellation {
    ($callback:ident $context:tt) => {
        $crate::$callback! { $context cancellation
        }
    };
}
