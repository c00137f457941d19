//! What operators see.

/// The validations of this category.
#[doc(hidden)]
#[macro_export]
macro_rules! __management {
    ($callback:ident $context:tt) => {
        $crate::$callback! { $context management
        }
    };
}
