//! Executions of one instance stand side by side.

/// The validations of this category.
#[doc(hidden)]
#[macro_export]
macro_rules! __multi_execution {
    ($callback:ident $context:tt) => {
        $crate::$callback! { $context multi_execution
        }
    };
}
