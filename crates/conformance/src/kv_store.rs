//! Key-value state of instances.

/// The validations of this category.
#[doc(hidden)]
#[macro_export]
macro_rules! __kv_store {
    ($callback:ident $context:tt) => {
        $crate::$callback! { $context kv_store
        }
    };
}
