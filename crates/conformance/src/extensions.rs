//! What is new in this contract: batches, known history, waiting for changes, parking.

/// The validations of this category.
#[doc(hidden)]
#[macro_export]
macro_rules! __extensions {
    ($callback:ident $context:tt) => {
        $crate::$callback! { $context extensions
        }
    };
}
