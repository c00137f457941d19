//! How long a fetch waits when there is nothing.

/// The validations of this category.
#[doc(hidden)]
#[macro_export]
macro_rules! __long_polling {
    ($callback:ident $context:tt) => {
        $crate::$callback! { $context long_polling
        }
    };
}
