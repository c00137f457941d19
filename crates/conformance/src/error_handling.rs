//! What a provider says when something is wrong.

/// The validations of this category.
#[doc(hidden)]
#[macro_export]
macro_rules! __error_handling {
    ($callback:ident $context:tt) => {
        $crate::$callback! { $context error_handling
        }
    };
}
