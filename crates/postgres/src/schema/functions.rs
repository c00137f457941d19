//! The functions under `sql/functions`, installed beside those of other builds.
//!
//! A checksum of all function texts is the version of the set, and every function carries it in its
//! name. A change edits one file; the edit gives the set a new version. An upgrade therefore
//! installs its own set and leaves the sets of running nodes alone, and each node calls its own.
//! A set may be dropped once no node of its build runs; nothing drops it by itself.

use std::sync::LazyLock;

use crate::schema::codes;
use crate::schema::namespace::{Schema, fnv1a};

/// One SQL function.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: &'static str,
    sql: String,
    /// Its input parameters, in the order of the declaration.
    pub(crate) parameters: Vec<String>,
}

macro_rules! function_texts {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../sql/functions/", $name, ".sql")))),*]
    };
}

const TEXTS: &[(&str, &str)] = function_texts![
    "activity_code",
    "append_history",
    "choose_plain_work",
    "choose_session_work",
    "choose_turns",
    "close_sender",
    "code_key",
    "commit_first_turn",
    "commit_step",
    "commit_turns",
    "complete_work",
    "correct_future_leases",
    "correct_future_messages",
    "count_expired_attempts",
    "current_execution",
    "delete_instances",
    "delete_pending_starts",
    "discard_late_messages",
    "end_suspensions",
    "enqueue_messages",
    "enqueue_work",
    "expired_turns",
    "extend_turns",
    "extend_work",
    "fetch_overdue_work",
    "fetch_turns",
    "fetch_work",
    "find_unfetchable",
    "first_running",
    "forget_routes",
    "future",
    "hide_instances",
    "hold_instance",
    "import_activities",
    "import_instance",
    "import_messages",
    "insert_messages",
    "instance_set",
    "instance_status",
    "lease_first_turns",
    "list_next_messages",
    "listed_messages",
    "lock_for_deletion",
    "lock_instances",
    "lock_parent",
    "lock_starts",
    "merge_kv",
    "message_pin",
    "parking_key",
    "prune_executions",
    "read_outcomes",
    "ready_code",
    "ready_routes",
    "record_sending",
    "release_due_work",
    "release_reserved",
    "remove_deleted",
    "renew_work",
    "reserve_instances",
    "reopen_instance",
    "resume_instance",
    "route_behind",
    "route_fits",
    "send_message",
    "set_orphans_aside",
    "set_work_aside",
    "settle_code",
    "settle_pins",
    "suspend_instance",
    "suspend_turn",
    "touch_sessions",
    "turn_results",
    "turn_route",
    "unpark_messages",
    "write_kv",
];

static FUNCTIONS: LazyLock<Vec<Function>> = LazyLock::new(|| {
    let function = |(name, sql): &(&'static str, &str)| Function {
        name,
        sql: codes::with_numbers(sql),
        parameters: parameters(sql),
    };
    TEXTS.iter().map(function).collect()
});

static VERSION: LazyLock<String> = LazyLock::new(|| {
    let bytes = FUNCTIONS.iter().flat_map(|function| function.sql.bytes());
    format!("{:012x}", fnv1a(bytes) >> 16)
});

/// The version of this build's functions: the end of their names.
pub(crate) fn version() -> &'static str {
    &VERSION
}

/// A function by its name without the version.
pub(crate) fn find(name: &str) -> Option<&'static Function> {
    FUNCTIONS.iter().find(|function| function.name == name)
}

/// The statements that install this build's functions. They may run any number of times.
pub(crate) fn text(schema: &Schema) -> String {
    let mut text = format!("\n-- functions, version {}\n", version());
    for function in FUNCTIONS.iter() {
        text.push_str(&schema.definition(&function.sql));
    }
    text.push_str(&format!(
        "INSERT INTO {}.duroxide_functions (version, release) VALUES ('{}', '{}')\n    \
         ON CONFLICT DO NOTHING;\n",
        schema.quoted(),
        version(),
        env!("CARGO_PKG_VERSION"),
    ));
    text
}

/// The names of the input parameters in a function's text.
fn parameters(sql: &str) -> Vec<String> {
    let code: Vec<&str> = sql.lines().map(|line| line.split("--").next().unwrap_or("")).collect();
    let code = code.join("\n");
    let list = code.split_once('(').and_then(|(_, rest)| rest.split_once(')'));
    let declared = list.map_or("", |(list, _)| list).split(',').map(str::trim);
    let inputs = declared.filter(|declared| !declared.starts_with("OUT "));
    inputs.filter_map(|it| it.split_whitespace().next()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_defines_the_function_that_it_is_named_after() {
        for (name, sql) in TEXTS {
            let definition = format!("CREATE OR REPLACE FUNCTION {{schema}}.{name}{{v}}(");
            assert!(sql.contains(&definition), "{name}");
            assert_eq!(sql.matches("CREATE ").count(), 1, "{name}");
        }
    }

    #[test]
    fn no_placeholder_is_left() {
        let text = text(&Schema::new("s").unwrap());
        let placeholders = text.split('{').skip(1).filter(|rest| !rest.starts_with('}'));
        assert_eq!(placeholders.count(), 0, "{text}");
    }

    #[test]
    fn parameters_are_read_from_the_declaration() {
        let sql = "-- Does (something).\nCREATE OR REPLACE FUNCTION {schema}.f{v}(\n    \
             p_now BIGINT, t_token UUID[],\n    -- A comment, with a comma.\n    p_last TEXT,\n    \
             OUT o_now BIGINT\n)\nLANGUAGE sql";
        assert_eq!(parameters(sql), ["p_now", "t_token", "p_last"]);
        assert!(parameters("CREATE OR REPLACE FUNCTION {schema}.f{v}() RETURNS VOID").is_empty());
        let commit = find("commit_turns").unwrap();
        assert_eq!(commit.parameters.len(), 60);
        assert!(find("commit_turns_").is_none());
    }
}
