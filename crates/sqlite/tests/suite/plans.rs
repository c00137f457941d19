//! Every statement of the hot path uses an index: its cost does not grow with the tables.

use duroxide_core::providers::Provider;
use rusqlite::config::DbConfig;

use crate::support::*;

const SOURCES: [(&str, &str); 24] = [
    ("direct_turn", include_str!("../../src/commit/direct_turn.rs")),
    ("events", include_str!("../../src/commit/events.rs")),
    ("kv_changes", include_str!("../../src/commit/kv_changes.rs")),
    ("turn_commit", include_str!("../../src/commit/turn_commit.rs")),
    ("candidates", include_str!("../../src/fetch/candidates.rs")),
    ("turn_lock", include_str!("../../src/fetch/turn_lock.rs")),
    ("turns", include_str!("../../src/fetch/turns.rs")),
    ("client_message", include_str!("../../src/queues/client_message.rs")),
    ("due_work", include_str!("../../src/queues/due_work.rs")),
    ("instance_queues", include_str!("../../src/queues/instance_queues.rs")),
    ("orchestrator_queue", include_str!("../../src/queues/orchestrator_queue.rs")),
    ("progress", include_str!("../../src/queues/progress.rs")),
    ("ready_messages", include_str!("../../src/queues/ready_messages.rs")),
    ("sessions", include_str!("../../src/queues/sessions.rs")),
    ("start_limits", include_str!("../../src/queues/start_limits.rs")),
    ("stranded_turns", include_str!("../../src/queues/stranded_turns.rs")),
    ("waiting_starts", include_str!("../../src/queues/waiting_starts.rs")),
    ("waiting_work", include_str!("../../src/queues/waiting_work.rs")),
    ("work_choice", include_str!("../../src/queues/work_choice.rs")),
    ("work_code", include_str!("../../src/queues/work_code.rs")),
    ("work_lock", include_str!("../../src/queues/work_lock.rs")),
    ("worker_queue", include_str!("../../src/queues/worker_queue.rs")),
    ("history", include_str!("../../src/read/history.rs")),
    ("kv", include_str!("../../src/read/kv.rs")),
];

/// The string literals of a source file that are statements.
fn statements(source: &str) -> Vec<String> {
    let literals = source.split('"').skip(1).step_by(2).map(str::to_owned);
    let verbs = ["SELECT ", "INSERT ", "UPDATE ", "DELETE "];
    literals.filter(|text| verbs.iter().any(|verb| text.starts_with(verb))).collect()
}

#[tokio::test]
async fn no_statement_scans_a_table_or_sorts() {
    let store = Store::new().await;
    let conn = store.sql();
    // As the provider's own connections: plans do not depend on bound values.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).unwrap();
    let mut explained = 0;
    for (file, source) in SOURCES {
        for sql in statements(source) {
            let mut statement = conn
                .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
                .unwrap_or_else(|error| panic!("{file}: {error}: {sql}"));
            let plan: Vec<String> = statement
                .raw_query()
                .mapped(|row| row.get::<_, String>(3))
                .collect::<Result<_, _>>()
                .unwrap();
            for step in &plan {
                let scanned = step.strip_prefix("SCAN ");
                let scans = scanned.is_some_and(|what| {
                    // The rows of a part of the statement, which has lines of its own.
                    let part = format!("CO-ROUTINE {what}");
                    !what.starts_with("(subquery")
                        && !what.starts_with("CONSTANT ROW")
                        && !plan.contains(&part)
                });
                assert!(!scans && !step.contains("TEMP B-TREE"), "{file}: {plan:#?}\n{sql}");
            }
            explained += 1;
        }
    }
    assert!(explained > 40, "only {explained} statements were found");
}

#[tokio::test]
async fn the_ready_index_lists_one_message_of_each_instance_that_can_be_leased() {
    let store = Store::new().await;
    let conn = store.sql();
    let sql: String = conn
        .query_row("SELECT sql FROM sqlite_master WHERE name = 'idx_orch_ready'", [], |row| {
            row.get(0)
        })
        .unwrap();
    assert!(sql.contains("WHERE route IS NOT NULL"), "{sql}");
    let provider = &*store.provider;
    for data in ["a", "b"] {
        provider.enqueue_for_orchestrator(signal("unknown", data), None).await.unwrap();
    }
    assert!(try_turn(provider).await.is_none());
    provider.enqueue_for_orchestrator(start("leased"), None).await.unwrap();
    turn(provider).await;
    provider.enqueue_for_orchestrator(signal("leased", "c"), None).await.unwrap();
    provider.enqueue_for_orchestrator(start("ready"), None).await.unwrap();
    provider.enqueue_for_orchestrator(signal("ready", "d"), None).await.unwrap();
    let listed = "SELECT count(*) FROM orchestrator_queue WHERE route IS NOT NULL";
    assert_eq!(store.count(listed), 1, "one message stands for all of its instance");
}
