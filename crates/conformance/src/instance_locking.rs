//! One instance, one holder at a time.

/// The validations of this category.
#[doc(hidden)]
#[macro_export]
macro_rules! __instance_locking {
    ($callback:ident $context:tt) => {
        $crate::$callback! { $context instance_locking
        }
    };
}
