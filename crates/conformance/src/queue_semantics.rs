//! Order and visibility of messages and activities.

/// The validations of this category.
#[doc(hidden)]
#[macro_export]
macro_rules! __queue_semantics {
    ($callback:ident $context:tt) => {
        $crate::$callback! { $context queue_semantics
        }
    };
}
