//! Races, decided live and decided the same way in replay, on a real runtime.

/// The validations of this category.
#[doc(hidden)]
#[macro_export]
macro_rules! __race_replay {
    ($callback:ident $context:tt) => {
        $crate::$callback! { $context race_replay
        }
    };
}
