//! Attempts are counted, so that a message that never succeeds is noticed.

/// The validations of this category.
#[doc(hidden)]
#[macro_export]
macro_rules! __poison_message {
    ($callback:ident $context:tt) => {
        $crate::$callback! { $context poison_message
        }
    };
}
