//! Leases end, are renewed and are given back.

/// The validations of this category.
#[doc(hidden)]
#[macro_export]
macro_rules! __lock_expiration {
    ($callback:ident $context:tt) => {
        $crate::$callback! { $context lock_expiration
        }
    };
}
