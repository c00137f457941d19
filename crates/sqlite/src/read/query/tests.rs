//! Every statement of a query uses the index that it is meant for.

use std::path::Path;

use duroxide_core::providers::InstanceOrder;
use duroxide_core::providers::kit::{InstanceSet, KeySource};
use rusqlite::config::DbConfig;
use rusqlite::types::Value;
use rusqlite::{Connection, StatementStatus};

use super::{keys, rows, sets};
use crate::schema::migrations;

fn database() -> Connection {
    let mut conn = Connection::open_in_memory().unwrap();
    migrations::run(&mut conn, Path::new("new")).unwrap();
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).unwrap();
    conn
}

fn plan(conn: &Connection, sql: &str) -> Vec<String> {
    let mut statement = conn
        .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
        .unwrap_or_else(|error| panic!("{error}: {sql}"));
    let steps = statement.raw_query().mapped(|row| row.get::<_, String>(3));
    steps.collect::<Result<_, _>>().unwrap()
}

/// Each set with the index that finds it.
fn sets() -> [(InstanceSet, &'static str); 10] {
    let name = || "x".to_owned();
    [
        (InstanceSet::Ids(vec![name()]), "json_each"),
        (InstanceSet::IdPrefix(name()), "sqlite_autoindex_instances_1 (instance_id>? AND"),
        (InstanceSet::ChildrenOf(name()), "idx_instances_parent (parent_instance_id=?)"),
        (InstanceSet::Named(name()), "idx_instances_name (orchestration_name=?)"),
        (InstanceSet::Created(1, 2), "idx_instances_age (created_at>? AND created_at<?)"),
        (InstanceSet::Suspended, "idx_instances_suspended"),
        (
            InstanceSet::Attribute { key: name(), ranges: vec![(name(), name())] },
            "idx_kv_delta_attributes (key=? AND value>? AND value<?)",
        ),
        (InstanceSet::Unended, "idx_executions_running"),
        (InstanceSet::Failed, "idx_executions_failed"),
        (InstanceSet::NotCompleted, "idx_orch_start"),
    ]
}

#[test]
fn a_set_is_found_by_its_index() {
    let conn = database();
    for (set, index) in sets() {
        let plan = plan(&conn, &sets::members_sql(sets::of(&set).sql)).join("\n");
        assert!(plan.contains(index) && !plan.contains("SCAN instances\n"), "{set:?}: {plan}");
    }
}

#[test]
fn instances_are_sorted_by_looking_up_each() {
    let conn = database();
    let ids = KeySource::Ids(vec!["x".to_owned()]);
    for is_ascending in [true, false] {
        let sql = keys::statement(&ids, InstanceOrder::Created, is_ascending);
        let plan = plan(&conn, &sql).join("\n");
        let lookup = "SEARCH i USING INDEX sqlite_autoindex_instances_1 (instance_id=?)";
        assert!(plan.contains(lookup), "{plan}");
    }
}

#[test]
fn keys_come_from_an_index_in_order() {
    let conn = database();
    for (source, order, index) in [
        (KeySource::All, InstanceOrder::Created, "idx_instances_age ("),
        (
            KeySource::Names(vec!["x".to_owned()]),
            InstanceOrder::Created,
            "idx_instances_name (orchestration_name=? AND ",
        ),
        (KeySource::All, InstanceOrder::Id, "sqlite_autoindex_instances_1 (instance_id>? AND"),
        (
            KeySource::IdPrefix("x".to_owned()),
            InstanceOrder::Id,
            "sqlite_autoindex_instances_1 (instance_id>? AND",
        ),
    ] {
        for is_ascending in [true, false] {
            let plan = plan(&conn, &keys::statement(&source, order, is_ascending));
            let [only] = plan.as_slice() else { panic!("{plan:?}") };
            let expected = format!("SEARCH instances USING COVERING INDEX {index}");
            assert!(only.starts_with(&expected), "{only}");
            // The whole key is part of the range, so that ties are not read again.
            let is_whole = order == InstanceOrder::Id || only.contains("(created_at,instance_id)");
            assert!(is_whole, "{only}");
        }
    }
}

#[test]
fn rows_are_looked_up() {
    let conn = database();
    for sql in [
        keys::FIRST_NAME_SQL,
        keys::NEXT_NAME_SQL,
        rows::ROW_SQL,
        rows::END_SQL,
        rows::ATTRIBUTES_SQL,
    ] {
        let plan = plan(&conn, sql);
        let reads = plan.iter().filter(|step| step.starts_with("SEARCH")).count();
        assert!(reads > 0, "{plan:?}");
        assert!(!plan.iter().any(|it| it.starts_with("SCAN") || it.contains("TEMP")), "{plan:?}");
    }
}

/// A search for a prefix in the order of ids read all ids before it, or behind it: of two lower
/// bounds the index used the one of the page.
#[test]
fn a_prefix_of_ids_reads_only_its_own() {
    let conn = database();
    conn.execute_batch(
        "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 9999)
         INSERT INTO instances (instance_id, orchestration_name, orchestration_version,
             created_at, updated_at, incarnation)
         SELECT printf('i%04d', n), 'N', '1.0.0', n, n, 1 FROM n",
    )
    .unwrap();
    let source = KeySource::IdPrefix("i500".to_owned());
    for is_ascending in [true, false] {
        let sql = keys::statement(&source, InstanceOrder::Id, is_ascending);
        let mut statement = conn.prepare_cached(&sql).unwrap();
        let first = if is_ascending { Value::Text(String::new()) } else { Value::Blob(Vec::new()) };
        let values: [(&str, &dyn rusqlite::ToSql); 4] =
            [(":id", &first), (":id_from", &"i500"), (":id_end", &"i501"), (":limit", &100)];
        sets::bind(&mut statement, &values).unwrap();
        let ids: Vec<String> =
            statement.raw_query().mapped(|row| row.get(1)).collect::<Result<_, _>>().unwrap();
        assert_eq!(ids.len(), 10, "{ids:?}");
        let ends = (ids[0].as_str(), ids[9].as_str());
        assert_eq!(ends, if is_ascending { ("i5000", "i5009") } else { ("i5009", "i5000") });
        let steps = statement.get_status(StatementStatus::VmStep);
        assert!(steps < 500, "{steps} steps");
    }
}
