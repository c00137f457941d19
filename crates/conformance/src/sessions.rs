//! Activities that must run on the same node.

/// The validations of this category.
#[doc(hidden)]
#[macro_export]
macro_rules! __sessions {
    ($callback:ident $context:tt) => {
        $crate::$callback! { $context sessions
        }
    };
}
