//! A commit happens as a whole or not at all.

/// The validations of this category.
#[doc(hidden)]
#[macro_export]
macro_rules! __atomicity {
    ($callback:ident $context:tt) => {
        $crate::$callback! { $context atomicity
        }
    };
}
