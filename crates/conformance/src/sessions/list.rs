//! The list of this category. It has its own file because its functions span several files.

/// The validations of this category.
#[doc(hidden)]
#[macro_export]
macro_rules! __sessions {
    ($callback:ident $context:tt) => {
        $crate::$callback! { $context sessions
            test_non_session_items_fetchable_by_any_worker;
            test_session_item_claimable_when_no_session;
            test_session_affinity_same_worker;
            test_session_affinity_blocks_other_worker;
            test_different_sessions_different_workers;
            test_mixed_session_and_non_session_items;
            test_session_claimable_after_lock_expiry;
            test_none_session_skips_session_items;
            test_some_session_returns_all_items;
            test_session_items_processed_in_order;
            test_non_session_items_returned_with_session_config;
            test_shared_worker_id_any_caller_can_fetch_owned_session;
            test_concurrent_session_claim_only_one_wins;
            test_session_takeover_after_lock_expiry;
            test_session_is_one_across_instances;
            test_plain_fetch_claims_no_session;
            test_renew_session_lock_active;
            test_renew_session_lock_skips_idle;
            test_renew_session_lock_no_sessions;
            test_renew_session_lock_after_expiry_returns_zero;
            test_renew_session_lock_only_for_given_owners;
            test_session_lock_renewal_extends_past_original_timeout;
            test_fetch_extends_session_lock;
            test_cleanup_removes_expired_no_items;
            test_cleanup_keeps_sessions_with_pending_items;
            test_cleanup_keeps_active_sessions;
            test_cleanup_then_new_item_recreates_session;
            test_fetch_updates_session_last_activity;
            test_ack_updates_session_last_activity;
            test_renew_work_item_updates_session_last_activity;
            test_work_under_expired_session_does_not_revive_it;
            test_abandoned_session_item_retryable;
            test_abandoned_session_item_ignore_attempt;
            test_original_worker_reclaims_expired_session;
            test_activity_lock_expires_session_lock_valid_same_worker_refetches;
            test_session_lock_expires_new_owner_gets_redelivery;
            test_session_lock_expires_same_worker_reacquires;
            test_both_locks_expire_different_worker_claims;
            test_session_lock_expires_activity_lock_valid_ack_succeeds;
            test_new_session_owner_gets_no_leased_items;
            test_redelivery_keeps_session_order;
        }
    };
}
