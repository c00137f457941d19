//! The list of this category. It has its own file because its functions span several files.

/// The validations of this category.
#[doc(hidden)]
#[macro_export]
macro_rules! __kv_store {
    ($callback:ident $context:tt) => {
        $crate::$callback! { $context kv_store
            test_kv_set_and_get;
            test_kv_overwrite;
            test_kv_clear_single;
            test_kv_clear_all;
            test_kv_get_nonexistent;
            test_kv_get_unknown_instance;
            test_kv_clear_nonexistent_key;
            test_kv_set_after_clear;
            test_kv_empty_value;
            test_kv_large_value;
            test_kv_special_chars_in_key;
            test_kv_instance_isolation;
            test_kv_clear_isolation;
            test_kv_of_refused_commit_is_not_stored;
            test_kv_snapshot_in_fetch;
            test_kv_snapshot_after_clear_single;
            test_kv_snapshot_after_clear_all;
            test_kv_snapshot_empty;
            test_kv_snapshot_cross_execution;
            test_kv_snapshot_keeps_times;
            test_kv_execution_id_tracking;
            test_kv_cross_execution_overwrite;
            test_kv_cross_execution_remove_readd;
            test_kv_prune_preserves_overwritten needs(management);
            test_kv_prune_preserves_all_keys needs(management);
            test_kv_prune_current_execution_protected needs(management);
            test_kv_delete_instance_cascades needs(management);
            test_kv_delete_instance_with_children needs(management);
            test_kv_delta_snapshot_excludes_current_execution;
            test_kv_delta_snapshot_includes_completed_execution;
            test_kv_delta_client_reads_merged;
            test_kv_delta_tombstone_overrides_store;
            test_kv_delta_clear_all_tombstones_store;
            test_kv_delta_merged_on_completion;
            test_kv_delta_merged_on_failure;
            test_kv_delta_merged_on_can;
            test_kv_delta_delete_instance_cascades needs(management);
            test_kv_delta_prune_untouched_key_survives needs(management);
            test_kv_delta_in_the_last_commit_is_merged;
        }
    };
}
