//! The list of this category. It has its own file because its functions span several files.

/// The validations of this category.
#[doc(hidden)]
#[macro_export]
macro_rules! __deletion {
    ($callback:ident $context:tt) => {
        $crate::$callback! { $context deletion
            test_delete_terminal_instances needs(management);
            test_delete_running_rejected_force_succeeds needs(management);
            test_delete_between_executions_rejected needs(management);
            test_delete_nonexistent_instance needs(management);
            test_delete_at_once_succeeds_once needs(management);
            test_delete_leaves_other_instances needs(management);
            test_delete_cleans_queues_and_locks needs(management);
            test_delete_clears_custom_status_and_pin needs(management);
            test_delete_removes_messages_of_every_kind needs(management);
            test_delete_removes_pending_child_starts needs(management);
            test_delete_removes_leases_and_parked_messages needs(management);
            test_force_delete_prevents_ack_recreation needs(management);
            test_stale_activity_after_delete_recreate needs(management);
            test_cascade_delete_hierarchy needs(management);
            test_delete_refused_while_descendant_runs needs(management);
            test_list_children needs(management);
            test_delete_get_parent_id needs(management);
            test_delete_get_instance_tree needs(management);
            test_delete_instances_atomic needs(management);
            test_delete_instances_atomic_force needs(management);
            test_delete_instances_atomic_orphan_detection needs(management);
            test_delete_instances_atomic_empty_list needs(management);
            test_delete_instances_atomic_leaves_queued_starts needs(management);
        }
    };
}
