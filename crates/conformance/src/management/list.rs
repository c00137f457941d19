//! The list of this category. It has its own file because its functions span several files.

/// The validations of this category.
#[doc(hidden)]
#[macro_export]
macro_rules! __management {
    ($callback:ident $context:tt) => {
        $crate::$callback! { $context management
            test_list_instances needs(management);
            test_list_instances_by_status needs(management);
            test_list_instances_between_executions needs(management);
            test_list_instances_newest_first needs(management);
            test_list_executions needs(management);
            test_read_history_of_executions needs(management);
            test_unknown_instance_reads needs(management);
            test_get_instance_info needs(management);
            test_get_instance_info_follows_commits needs(management);
            test_get_execution_info needs(management);
            test_times_are_real needs(management);
            test_get_system_metrics needs(management);
            test_get_queue_depths needs(management);
            test_get_queue_depths_counts_every_waiting_row needs(management);
            test_running_version_spread needs(management);
            test_get_instance_stats_nonexistent;
            test_get_instance_stats_history;
            test_get_instance_stats_kv;
            test_get_instance_stats_carry_forward;
            test_get_instance_stats_kv_delta_only;
            test_get_instance_stats_kv_merged;
            test_get_instance_stats_of_current_execution;
        }
    };
}
