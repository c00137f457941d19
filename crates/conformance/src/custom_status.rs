//! The text that an orchestration shows, and its version.

/// The validations of this category.
#[doc(hidden)]
#[macro_export]
macro_rules! __custom_status {
    ($callback:ident $context:tt) => {
        $crate::$callback! { $context custom_status
        }
    };
}
