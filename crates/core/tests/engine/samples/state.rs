//! Custom status, key-value state and limits.

use duroxide_core::runtime::limits::{
    MAX_CUSTOM_STATUS_BYTES, MAX_ID_BYTES, MAX_KV_KEY_BYTES, MAX_KV_KEYS, MAX_KV_VALUE_BYTES,
    MAX_TAG_NAME_BYTES,
};

fn over(input: &str) -> usize {
    usize::from(input == "over")
}

super::samples! {
    status_then_activity(ctx, _input) {
        ctx.set_custom_status("one");
        ctx.set_custom_status("two");
        ctx.schedule_activity("A", "1").await?;
        Ok(ctx.get_custom_status().unwrap_or_default())
    }
    counts_once(ctx, _input) {
        let before = ctx.get_kv_value_typed::<u64>("n")?.unwrap_or(0);
        ctx.set_kv_value_typed("n", &(before + 1));
        ctx.schedule_activity("A", "1").await?;
        Ok(ctx.get_kv_value("n").unwrap_or_default())
    }
    sets_json(ctx, _input) {
        ctx.set_kv_value("k", r#"{"a":1,"b":2}"#);
        let _result = ctx.schedule_activity("A", "1").await;
        Ok(ctx.get_kv_value("k").unwrap_or_default())
    }
    sets_json_in_another_order(ctx, _input) {
        ctx.set_kv_value("k", r#"{"b":2, "a":1.0}"#);
        let _result = ctx.schedule_activity("A", "1").await;
        Ok(ctx.get_kv_value("k").unwrap_or_default())
    }
    sets_other_json(ctx, _input) {
        ctx.set_kv_value("k", r#"{"a":1,"b":3}"#);
        ctx.schedule_activity("A", "1").await
    }
    status(ctx, _input) {
        ctx.set_custom_status("one");
        ctx.set_custom_status("two");
        let seen = ctx.get_custom_status().unwrap_or_default();
        let _result = ctx.schedule_activity("A", seen).await;
        ctx.reset_custom_status();
        Ok(format!("{:?}", ctx.get_custom_status()))
    }
    reads_status(ctx, _input) { Ok(format!("{:?}", ctx.get_custom_status())) }
    sets_status(ctx, input) {
        ctx.set_custom_status(input);
        ctx.schedule_activity("A", "1").await
    }
    activity_and_status(ctx, input) {
        let activity = ctx.schedule_activity("A", input);
        ctx.set_custom_status("one");
        ctx.set_kv_value("k", "v");
        ctx.clear_kv_value("k");
        ctx.clear_all_kv_values();
        activity.await
    }
    activity_then_sets(ctx, input) {
        let result = ctx.schedule_activity("A", input).await?;
        ctx.set_kv_value("k", result);
        ctx.schedule_activity("A", "1").await
    }
    status_then_continue(ctx, input) {
        if input == "again" {
            return Ok(format!("{:?}", ctx.get_custom_status()));
        }
        ctx.set_custom_status("kept");
        ctx.continue_as_new("again").await
    }

    sets(ctx, input) {
        ctx.set_kv_value("k", input);
        ctx.schedule_activity("A", "1").await
    }
    sets_other_key(ctx, input) {
        ctx.set_kv_value("other", input);
        ctx.schedule_activity("A", "1").await
    }
    sets_and_reads(ctx, _input) {
        ctx.set_kv_value("k", "1");
        let now = ctx.get_kv_value("k").unwrap_or_default();
        let _result = ctx.schedule_activity("A", now).await;
        Ok(format!("{:?} of {:?}", ctx.get_kv_value("k"), ctx.get_kv_all_keys()))
    }
    reads(ctx, _input) {
        let mut all: Vec<_> = ctx.get_kv_all_values().into_iter().collect();
        all.sort();
        Ok(format!("{:?} {} {all:?}", ctx.get_kv_all_keys(), ctx.get_kv_length()))
    }
    clears(ctx, _input) {
        ctx.clear_kv_value("a");
        let _result = ctx.schedule_activity("A", ctx.get_kv_length().to_string()).await;
        ctx.clear_all_kv_values();
        Ok(ctx.get_kv_length().to_string())
    }
    clears_two(ctx, _input) {
        ctx.clear_kv_value("a");
        ctx.clear_kv_value("b");
        ctx.schedule_activity("A", "1").await
    }
    clears_two_swapped(ctx, _input) {
        ctx.clear_kv_value("b");
        ctx.clear_kv_value("a");
        ctx.schedule_activity("A", "1").await
    }
    clears_all(ctx, _input) {
        ctx.clear_all_kv_values();
        ctx.schedule_activity("A", "1").await
    }
    typed(ctx, _input) {
        ctx.set_kv_value_typed("list", &vec!["x"]);
        let list: Option<Vec<String>> = ctx.get_kv_value_typed("list")?;
        let bad: Result<Option<u64>, String> = ctx.get_kv_value_typed("list");
        Ok(format!("{list:?} {}", bad.err().unwrap_or_default()))
    }
    counts(ctx, _input) {
        let before = ctx.get_kv_value_typed::<u64>("n")?.unwrap_or(0);
        ctx.set_kv_value_typed("n", &(before + 1));
        let _result = ctx.schedule_activity("A", "1").await;
        let before = ctx.get_kv_value_typed::<u64>("n")?.unwrap_or(0);
        ctx.set_kv_value_typed("n", &(before + 1));
        Ok(ctx.get_kv_value("n").unwrap_or_default())
    }
    prunes(ctx, input) {
        ctx.set_kv_value("now", "v");
        let _result = ctx.schedule_activity("A", "1").await;
        ctx.set_kv_value("later", "v");
        let before = input.parse().map_err(|_| "a number".to_owned())?;
        let pruned = ctx.prune_kv_values_updated_before(before);
        ctx.schedule_activity("B", format!("{pruned} {:?}", ctx.get_kv_all_keys())).await
    }
    reads_key_of_other_instance(ctx, _input) {
        Ok(format!("{:?}", ctx.get_kv_value_from_instance("other", "k\"").await?))
    }

    long_status(ctx, input) {
        ctx.set_custom_status("s".repeat(MAX_CUSTOM_STATUS_BYTES + over(&input)));
        ctx.schedule_orchestration("Other", "other-1", "d");
        Ok("over".to_owned())
    }
    long_status_replaced(ctx, _input) {
        ctx.set_custom_status("s".repeat(MAX_CUSTOM_STATUS_BYTES + 1));
        ctx.set_custom_status("short");
        Ok("over".to_owned())
    }
    long_tag(ctx, input) {
        let tag = "t".repeat(MAX_TAG_NAME_BYTES + over(&input));
        ctx.schedule_activity("A", "1").with_tag(tag).await
    }
    long_name(ctx, input) {
        let id = "i".repeat(MAX_ID_BYTES + 1);
        match input.as_str() {
            "key" => ctx.set_kv_value("k".repeat(MAX_KV_KEY_BYTES + 1), "v"),
            "child" => std::mem::forget(ctx.schedule_sub_orchestration_with_id("C", id, "1")),
            "other" => ctx.schedule_orchestration("Other", id, "1"),
            _session => {
                std::mem::forget(ctx.schedule_activity_on_session("A", "1", id));
            }
        }
        Ok("over".to_owned())
    }
    long_names_allowed(ctx, _input) {
        ctx.set_kv_value("k".repeat(MAX_KV_KEY_BYTES), "v");
        ctx.schedule_activity("A", "1").await
    }
    long_value(ctx, input) {
        ctx.set_kv_value("k", "v".repeat(MAX_KV_VALUE_BYTES + over(&input)));
        ctx.schedule_activity("A", "1").await
    }
    many_keys(ctx, input) {
        for key in 0..100 {
            ctx.set_kv_value(format!("a{key:03}"), "");
        }
        let _result = ctx.schedule_activity("A", "1").await;
        for key in 100..MAX_KV_KEYS + over(&input) {
            ctx.set_kv_value(format!("b{key:03}"), "");
        }
        ctx.schedule_activity("B", "2").await
    }
    clears_and_sets_again(ctx, _input) {
        for key in 0..MAX_KV_KEYS {
            ctx.set_kv_value(format!("a{key:03}"), "");
        }
        ctx.clear_all_kv_values();
        for key in 0..MAX_KV_KEYS {
            ctx.set_kv_value(format!("b{key:03}"), "");
        }
        Ok(ctx.get_kv_length().to_string())
    }
    violates_all_limits(ctx, _input) {
        ctx.set_kv_value("k", "v".repeat(MAX_KV_VALUE_BYTES + 1));
        let tag = "t".repeat(MAX_TAG_NAME_BYTES + 1);
        std::mem::forget(ctx.schedule_activity("A", "1").with_tag(tag));
        ctx.set_custom_status("s".repeat(MAX_CUSTOM_STATUS_BYTES + 1));
        Ok("over".to_owned())
    }
}
