//! The list of this category. It has its own file because its functions span several files.

/// The validations of this category.
#[doc(hidden)]
#[macro_export]
macro_rules! __race_replay {
    ($callback:ident $context:tt) => {
        $crate::$callback! { $context race_replay
            test_duplicate_start_preserves_pinned_handler;
            test_continue_as_new_duplicate_start;
            test_continue_as_new_unregistered_backoff;
            test_continue_as_new_poisoned_successor_is_own_execution;
            test_continue_as_new_transition_delivery via transition_delivery_of_all_stamps;
            test_queue_race_cancellation_replay;
            test_continue_as_new_queue_race_replay;
            test_positional_wait_race_replay;
            test_legacy_queue_race_decision_preserved;
            test_queue_replay_version_stamp_roundtrip;
        }
    };
}
