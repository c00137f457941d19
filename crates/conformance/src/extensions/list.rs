//! The list of this category, in a file of its own because its functions are in many.

/// The validations of this category.
#[doc(hidden)]
#[macro_export]
macro_rules! __extensions {
    ($callback:ident $context:tt) => {
        $crate::$callback! { $context extensions
            a_batch_of_turns_has_at_most_its_size;
            a_batch_hands_out_each_instance_once;
            a_turn_of_a_batch_is_a_whole_turn;
            a_batch_honours_the_filter;
            turns_of_a_batch_stand_alone;
            a_batch_of_work_fills_each_slot_once;
            a_batch_of_work_without_slots_takes_nothing;
            a_batch_of_work_honours_sessions;
            a_batch_of_work_gives_a_session_to_one_owner;
            a_batch_of_work_honours_tags;
            known_history_is_left_out_exactly;
            a_mark_that_does_not_fit_counts_for_nothing;
            a_mark_of_an_earlier_execution_counts_for_nothing;
            a_recreated_instance_is_another_one needs(management);
            an_incarnation_stays_with_its_instance;
            a_damaged_history_is_reported_despite_a_mark needs(corruption);
            commit_turn_stores_every_part;
            commit_turn_needs_a_live_lease;
            commit_turn_is_all_or_nothing;
            an_event_without_a_position_is_refused;
            history_is_ordered_by_position;
            a_renewed_turn_lease_counts_from_now;
            a_renewed_turn_can_be_committed;
            an_ended_turn_can_be_given_back;
            a_stolen_turn_cannot_be_given_back;
            a_lease_is_as_long_as_asked_for;
            ended_work_comes_oldest_first;
            every_message_comes_back_as_it_was_sent;
            a_turn_holds_all_visible_messages;
            a_delayed_message_is_hidden;
            an_activity_is_no_message;
            a_message_is_no_activity;
            messages_go_to_their_instance;
            an_unknown_instance_blocks_nobody;
            an_early_message_waits_for_its_instance;
            an_early_message_waits_for_a_child;
            a_message_waits_for_a_hidden_start;
            parked_messages_are_listed needs(management);
            what_can_run_is_not_parked needs(management);
            an_outcome_follows_the_instance;
            an_outcome_tells_of_a_failure;
            an_outcome_is_that_of_the_latest_execution;
            every_range_of_a_filter_counts;
            versions_compare_as_numbers;
            pre_releases_compare_as_semver_says;
            the_version_spread_counts_running_instances needs(management);
            listings_are_newest_first needs(management);
            times_are_real_milliseconds needs(management);
            queue_depths_count_every_row needs(management);
            totals_are_exact needs(management);
            a_watch_sees_what_makes_turns_fetchable needs(watching);
            a_watch_sees_what_makes_work_fetchable needs(watching);
            a_watch_sees_every_commit_of_its_instance needs(watching);
            a_waiting_fetch_sees_a_new_message needs(waiting);
            a_waiting_fetch_sees_a_new_activity needs(waiting);
            a_waiting_fetch_sees_time_pass needs(waiting);
            a_waiting_fetch_sees_a_commit needs(waiting);
            a_dropped_fetch_holds_nothing needs(waiting);
            a_named_activity_is_leased_or_enqueued;
            a_leased_activity_is_not_fetched_by_others needs(work_leases);
            each_leased_activity_has_a_token needs(work_leases);
            only_named_activities_are_leased needs(work_leases);
            leased_work_can_be_renewed needs(work_leases);
            leased_work_can_be_finished needs(work_leases);
            leased_work_can_be_given_back needs(work_leases);
            leased_work_keeps_its_tag needs(work_leases);
            an_activity_of_a_session_is_not_leased needs(work_leases);
            leased_work_can_be_cancelled needs(work_leases);
            a_refused_commit_leases_nothing needs(work_leases);
            a_waiting_fetch_sees_the_end_of_a_commits_lease needs(waiting, work_leases);
            a_direct_turn_stores_and_finishes needs(direct_turns);
            a_direct_turn_leaves_other_work_alone needs(direct_turns);
            direct_turns_follow_one_another needs(direct_turns, work_leases);
            a_direct_turn_stores_every_part needs(direct_turns, work_leases);
            a_direct_turn_ends_an_execution needs(direct_turns);
            a_direct_turn_continues_as_new needs(direct_turns);
            a_direct_turn_may_begin_an_execution needs(direct_turns);
            a_stale_mark_refuses needs(direct_turns);
            a_mark_is_stale_after_any_commit needs(direct_turns);
            a_turn_without_events_leaves_the_mark needs(direct_turns);
            a_recreated_instance_refuses needs(direct_turns, management);
            a_held_instance_refuses needs(direct_turns);
            an_ended_turn_leaves_its_messages_first needs(direct_turns);
            a_waiting_message_refuses needs(direct_turns);
            a_hidden_message_does_not_refuse needs(direct_turns);
            a_turn_given_back_does_not_refuse needs(direct_turns);
            an_unknown_instance_refuses needs(direct_turns);
            a_direct_turn_counts_once needs(direct_turns, work_leases);
            an_unknown_activity_fails_a_direct_turn needs(direct_turns);
            an_ended_lease_fails_a_direct_turn needs(direct_turns);
            a_lost_activity_fails_a_direct_turn needs(direct_turns);
            an_activity_named_twice_fails_a_direct_turn needs(direct_turns);
            a_direct_turn_is_all_or_nothing needs(direct_turns);
            a_refusal_comes_before_a_failure needs(direct_turns);
            a_direct_turn_uses_the_session needs(direct_turns);
            a_direct_turn_keeps_the_session needs(direct_turns);
            of_many_direct_turns_one_counts needs(direct_turns);
            a_direct_turn_and_a_fetch_never_both needs(direct_turns);
        }
    };
}
