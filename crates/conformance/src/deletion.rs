//! Deleting instances with everything that belongs to them.

/// The validations of this category.
#[doc(hidden)]
#[macro_export]
macro_rules! __deletion {
    ($callback:ident $context:tt) => {
        $crate::$callback! { $context deletion
        }
    };
}
