//! Deleting many instances by a filter.

/// The validations of this category.
#[doc(hidden)]
#[macro_export]
macro_rules! __bulk_deletion {
    ($callback:ident $context:tt) => {
        $crate::$callback! { $context bulk_deletion
        }
    };
}
