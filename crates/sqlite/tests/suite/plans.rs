//! Every statement of the hot path uses an index: its cost does not grow with the tables.

use rusqlite::config::DbConfig;

use crate::support::*;

const SOURCES: [(&str, &str); 15] = [
    ("direct_turn", include_str!("../../src/commit/direct_turn.rs")),
    ("events", include_str!("../../src/commit/events.rs")),
    ("kv_changes", include_str!("../../src/commit/kv_changes.rs")),
    ("turn_commit", include_str!("../../src/commit/turn_commit.rs")),
    ("turn_lock", include_str!("../../src/fetch/turn_lock.rs")),
    ("turns", include_str!("../../src/fetch/turns.rs")),
    ("orchestrator_queue", include_str!("../../src/queues/orchestrator_queue.rs")),
    ("progress", include_str!("../../src/queues/progress.rs")),
    ("sessions", include_str!("../../src/queues/sessions.rs")),
    ("start_limits", include_str!("../../src/queues/start_limits.rs")),
    ("waiting_work", include_str!("../../src/queues/waiting_work.rs")),
    ("work_lock", include_str!("../../src/queues/work_lock.rs")),
    ("worker_queue", include_str!("../../src/queues/worker_queue.rs")),
    ("history", include_str!("../../src/read/history.rs")),
    ("kv", include_str!("../../src/read/kv.rs")),
];

/// The string literals of a source file that are statements.
fn statements(source: &str) -> Vec<String> {
    let rule = source
        .split_once("\"(q.session_id")
        .and_then(|(_, rest)| rest.split_once('"'))
        .map_or(String::new(), |(rule, _)| format!("(q.session_id{rule}"));
    let source = source.replace("\",\n    session_rule!(),\n    \"", &rule);
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
                let scans = step.starts_with("SCAN ")
                    && !step.starts_with("SCAN (subquery")
                    && !step.starts_with("SCAN CONSTANT ROW");
                assert!(!scans && !step.contains("TEMP B-TREE"), "{file}: {plan:#?}\n{sql}");
            }
            explained += 1;
        }
    }
    assert!(explained > 40, "only {explained} statements were found");
}

#[tokio::test]
async fn the_ready_index_holds_neither_leased_nor_parked_messages() {
    let store = Store::new().await;
    let conn = store.sql();
    let sql: String = conn
        .query_row("SELECT sql FROM sqlite_master WHERE name = 'idx_orch_ready'", [], |row| {
            row.get(0)
        })
        .unwrap();
    assert!(sql.contains("WHERE lock_token IS NULL AND parked = 0"), "{sql}");
}
