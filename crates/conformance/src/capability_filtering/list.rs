//! The list of this category. It has its own file because its functions span several files.

/// The validations of this category.
#[doc(hidden)]
#[macro_export]
macro_rules! __capability_filtering {
    ($callback:ident $context:tt) => {
        $crate::$callback! { $context capability_filtering
            test_fetch_with_filter_none_returns_any_item;
            test_fetch_with_compatible_filter_returns_item;
            test_fetch_with_incompatible_filter_skips_item;
            test_fetch_filter_skips_incompatible_selects_compatible;
            test_fetch_filter_does_not_lock_skipped_instances;
            test_fetch_filter_null_pinned_version_always_compatible;
            test_fetch_filter_applies_to_expired_leases;
            test_filter_with_empty_supported_versions_returns_nothing;
            test_concurrent_filtered_fetch_no_double_lock;
            test_fetch_filter_boundary_versions;
            test_fetch_single_range_only_uses_first_range;
            test_fetch_filter_orders_pre_releases;
            test_fetch_filter_compares_large_components;
            test_pinned_version_stored_via_ack_metadata;
            test_pinned_version_immutable_across_ack_cycles;
            test_continue_as_new_execution_gets_own_pinned_version;
            test_continue_as_new_execution_inherits_no_pin;
            test_ack_stores_pinned_version_via_metadata_update;
            test_provider_updates_pinned_version_when_told;
            test_fetch_corrupted_history_filtered_vs_unfiltered needs(corruption);
            test_fetch_deserialization_error_increments_attempt_count needs(corruption);
            test_fetch_deserialization_error_eventually_reaches_poison needs(corruption);
            test_fetch_filter_applied_before_history_deserialization needs(corruption);
            test_ack_appends_event_to_corrupted_history needs(corruption, management);
        }
    };
}
