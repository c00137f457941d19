//! Sets of instances that an index finds, as subqueries.

use duroxide_core::providers::kit::{InstanceSet, prefix_end};
use rusqlite::types::Value;
use rusqlite::{CachedStatement, Connection, ToSql};

use crate::error::JobError;
use crate::schema::number::to_db;
use crate::schema::stored_text::stored_id;

/// A subquery that lists ids, with its parameters `:a` and `:b`.
#[derive(Debug, Clone)]
pub(super) struct SetSql {
    pub(super) sql: &'static str,
    pub(super) a: Value,
    pub(super) b: Value,
}

/// More than every text: bytes sort behind texts.
pub(super) fn behind_all_texts() -> Value {
    Value::Blob(Vec::new())
}

/// The end of the texts with a prefix.
pub(super) fn end_of(prefix: &str) -> Value {
    prefix_end(prefix).map_or_else(behind_all_texts, Value::Text)
}

/// The subquery of a set.
pub(super) fn of(set: &InstanceSet) -> SetSql {
    let with = |sql, a, b| SetSql { sql, a, b };
    match set {
        InstanceSet::Ids(ids) => with(IDS, json(serde_json::to_string(ids)), Value::Null),
        InstanceSet::IdPrefix(prefix) => {
            with(ID_PREFIX, Value::Text(prefix.clone()), end_of(prefix))
        }
        InstanceSet::ChildrenOf(parent) => with(CHILDREN, Value::Text(parent.clone()), Value::Null),
        InstanceSet::Named(name) => with(NAMED, Value::Text(name.clone()), Value::Null),
        InstanceSet::Created(from, to) => with(CREATED, to_db(*from).into(), to_db(*to).into()),
        InstanceSet::Attribute { key, ranges } => {
            with(ATTRIBUTE, Value::Text(key.clone()), json(serde_json::to_string(ranges)))
        }
        InstanceSet::Unended => with(UNENDED, Value::Null, Value::Null),
        InstanceSet::Failed => with(FAILED, Value::Null, Value::Null),
        InstanceSet::NotCompleted => with(NOT_COMPLETED, Value::Null, Value::Null),
        InstanceSet::Suspended => with(SUSPENDED, Value::Null, Value::Null),
        // A set that this version does not know: every instance may be in it.
        _later => with(EVERY, Value::Null, Value::Null),
    }
}

/// The ids of a set; `None` if there are more than `max`. All queued starts count, because each has
/// to be read to find those that continue an instance.
pub(super) fn members(
    conn: &Connection,
    set: &InstanceSet,
    max: usize,
) -> Result<Option<Vec<String>>, JobError> {
    let enough = to_db(max as u64 + 1);
    if matches!(set, InstanceSet::Unended | InstanceSet::NotCompleted) {
        let starts: i64 = conn.prepare_cached(STARTS)?.query_row([enough], |row| row.get(0))?;
        if starts == enough {
            return Ok(None);
        }
    }
    let SetSql { sql, a, b } = of(set);
    let mut statement = conn.prepare_cached(&members_sql(sql))?;
    bind(&mut statement, &[(":a", &a), (":b", &b), (":limit", &enough)])?;
    let mut ids = Vec::new();
    let (mut read, mut rows) = (0, statement.raw_query());
    while let Some(row) = rows.next()? {
        read += 1;
        ids.extend(stored_id(row, 0)?);
    }
    Ok((read <= max).then_some(ids))
}

pub(super) fn members_sql(set: &str) -> String {
    format!("{set} LIMIT :limit")
}

/// Binds those parameters that the statement has.
pub(super) fn bind(
    statement: &mut CachedStatement<'_>,
    values: &[(&str, &dyn ToSql)],
) -> rusqlite::Result<()> {
    for (parameter, value) in values {
        if let Some(index) = statement.parameter_index(parameter)? {
            statement.raw_bind_parameter(index, value)?;
        }
    }
    Ok(())
}

/// A list as JSON, which a statement reads as a table.
pub(super) fn json(encoded: serde_json::Result<String>) -> Value {
    // Texts have a form in JSON, whatever they contain.
    Value::Text(encoded.unwrap_or_else(|_| "[]".to_owned()))
}

const EVERY: &str = "SELECT instance_id FROM instances";

const STARTS: &str = "SELECT count(*) FROM (
     SELECT 1 FROM orchestrator_queue INDEXED BY idx_orch_start WHERE start_rank > 0 LIMIT ?1)";

const IDS: &str = "SELECT value AS instance_id FROM json_each(:a)";

const ID_PREFIX: &str =
    "SELECT instance_id FROM instances WHERE instance_id >= :a AND instance_id < :b";

const CHILDREN: &str = "SELECT instance_id FROM instances WHERE parent_instance_id = :a";

const NAMED: &str =
    "SELECT instance_id FROM instances INDEXED BY idx_instances_name WHERE orchestration_name = :a";

const CREATED: &str = "SELECT instance_id FROM instances INDEXED BY idx_instances_age
     WHERE created_at >= :a AND created_at <= :b";

const SUSPENDED: &str = "SELECT instance_id FROM instances INDEXED BY idx_instances_suspended
     WHERE suspended_since IS NOT NULL";

const FAILED: &str = "SELECT instance_id FROM executions INDEXED BY idx_executions_failed
     WHERE status = 'Failed'";

// An instance that continued as new runs while the start of the next execution is queued.
const UNENDED: &str = "SELECT instance_id FROM executions INDEXED BY idx_executions_running
     WHERE status = 'Running'
     UNION ALL
     SELECT instance_id FROM orchestrator_queue INDEXED BY idx_orch_start
     WHERE start_rank > 0 AND start_rank = 1";

const NOT_COMPLETED: &str = "SELECT instance_id FROM executions INDEXED BY idx_executions_running
     WHERE status = 'Running'
     UNION ALL
     SELECT instance_id FROM executions INDEXED BY idx_executions_failed
     WHERE status = 'Failed'
     UNION ALL
     SELECT instance_id FROM orchestrator_queue INDEXED BY idx_orch_start
     WHERE start_rank > 0 AND start_rank = 1";

// What the running execution wrote is in `kv_delta`. A value that it has replaced is found too; the
// search compares the live ones.
const ATTRIBUTE: &str = "SELECT k.instance_id FROM json_each(:b) r
     CROSS JOIN kv_store k INDEXED BY idx_kv_store_attributes
     WHERE k.key >= '__duroxide_attribute:' AND k.key < '__duroxide_attribute;' AND k.key = :a
         AND k.value >= json_extract(r.value, '$[0]') AND k.value < json_extract(r.value, '$[1]')
     UNION ALL
     SELECT k.instance_id FROM json_each(:b) r
     CROSS JOIN kv_delta k INDEXED BY idx_kv_delta_attributes
     WHERE k.key >= '__duroxide_attribute:' AND k.key < '__duroxide_attribute;' AND k.key = :a
         AND k.value >= json_extract(r.value, '$[0]') AND k.value < json_extract(r.value, '$[1]')";
