//! Turns are handed only to nodes that can replay them.

/// The validations of this category.
#[doc(hidden)]
#[macro_export]
macro_rules! __capability_filtering {
    ($callback:ident $context:tt) => {
        $crate::$callback! { $context capability_filtering
        }
    };
}
