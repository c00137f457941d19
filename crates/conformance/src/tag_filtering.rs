//! Activities go to workers that asked for their tag.

/// The validations of this category.
#[doc(hidden)]
#[macro_export]
macro_rules! __tag_filtering {
    ($callback:ident $context:tt) => {
        $crate::$callback! { $context tag_filtering
        }
    };
}
