//! The next keys in the order of a query, from an index.

use duroxide_core::providers::InstanceOrder;
use duroxide_core::providers::kit::{KeyRequest, KeySource, RowKey};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, ToSql, params};

use super::sets::{behind_all_texts, bind, end_of, json};
use crate::error::JobError;
use crate::schema::number::{from_db, to_db};
use crate::schema::stored_text::{stored_id, stored_integer};

/// A search for keys, with everything that it needs.
#[derive(Debug)]
pub(super) struct KeySearch {
    statement: String,
    /// Read one after the other and merged; `None` reads without a name.
    names: Vec<Option<String>>,
    /// A list as JSON.
    ids: Option<Value>,
    is_ascending: bool,
    created: i64,
    id: Value,
    /// The last time of creation, in the direction of the search.
    until: i64,
    id_from: String,
    id_end: Value,
    limit: usize,
}

impl KeySearch {
    pub(super) fn of(request: &KeyRequest<'_>) -> Self {
        let is_ascending = request.is_ascending;
        let (earliest, latest) = (to_db(request.created.0), to_db(request.created.1));
        let (begin, until) = if is_ascending { (earliest, latest) } else { (latest, earliest) };
        let (created, id) = match request.from {
            Some(key) => {
                let at = to_db(key.created_at);
                // What lies before the range of creation is left out.
                let is_within = if is_ascending { at >= begin } else { at <= begin };
                match is_within || request.order == InstanceOrder::Id {
                    true => (at, Value::Text(key.id.clone())),
                    false => (begin, first_id(is_ascending)),
                }
            }
            None => (begin, first_id(is_ascending)),
        };
        let (names, ids, prefix) = match request.source {
            KeySource::Names(names) => (names.iter().cloned().map(Some).collect(), None, ""),
            KeySource::Ids(ids) => (vec![None], Some(json(serde_json::to_string(ids))), ""),
            KeySource::IdPrefix(prefix) => (vec![None], None, prefix.as_str()),
            KeySource::All | _ => (vec![None], None, ""),
        };
        Self {
            statement: statement(request.source, request.order, is_ascending),
            names,
            ids,
            is_ascending,
            created,
            id,
            until,
            id_from: prefix.to_owned(),
            id_end: end_of(prefix),
            limit: request.limit,
        }
    }

    pub(super) fn run(&self, conn: &Connection) -> Result<Vec<RowKey>, JobError> {
        let mut keys = Vec::new();
        for name in &self.names {
            keys.extend(self.run_one(conn, name.as_deref())?);
        }
        if self.names.len() > 1 {
            keys.sort_unstable();
            if !self.is_ascending {
                keys.reverse();
            }
            keys.truncate(self.limit);
        }
        Ok(keys)
    }

    fn run_one(&self, conn: &Connection, name: Option<&str>) -> Result<Vec<RowKey>, JobError> {
        let mut statement = conn.prepare_cached(&self.statement)?;
        let limit = to_db(self.limit as u64);
        let values: [(&str, &dyn ToSql); 8] = [
            (":name", &name),
            (":created", &self.created),
            (":id", &self.id),
            (":until", &self.until),
            (":id_from", &self.id_from),
            (":id_end", &self.id_end),
            (":ids", &self.ids),
            (":limit", &limit),
        ];
        bind(&mut statement, &values)?;
        let mut found = Vec::new();
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next()? {
            found.extend(key(row)?);
        }
        Ok(found)
    }
}

/// The id with which a search begins: none comes before it.
fn first_id(is_ascending: bool) -> Value {
    match is_ascending {
        true => Value::Text(String::new()),
        false => behind_all_texts(),
    }
}

fn key(row: &Row<'_>) -> rusqlite::Result<Option<RowKey>> {
    let created_at = stored_integer(row, 0)?.map_or(0, from_db);
    Ok(stored_id(row, 1)?.map(|id| RowKey { created_at, id }))
}

/// The statement of a source, an order and a direction.
pub(super) fn statement(source: &KeySource, order: InstanceOrder, is_ascending: bool) -> String {
    let (from, to, direction) =
        if is_ascending { (">=", "<=", "ASC") } else { ("<=", ">=", "DESC") };
    match (source, order) {
        (KeySource::Ids(_), _) => format!(
            // The signs keep other indexes out of it.
            "SELECT i.created_at, i.instance_id FROM instances i
             WHERE i.instance_id IN (SELECT value FROM json_each(:ids))
                 AND (+i.created_at, +i.instance_id) {from} (:created, :id)
                 AND +i.created_at {to} :until
             ORDER BY i.created_at {direction}, i.instance_id {direction} LIMIT :limit"
        ),
        (KeySource::Names(_), _) => format!(
            "SELECT created_at, instance_id FROM instances INDEXED BY idx_instances_name
             WHERE orchestration_name = :name AND (created_at, instance_id) {from} (:created, :id)
                 AND created_at {to} :until
             ORDER BY created_at {direction}, instance_id {direction} LIMIT :limit"
        ),
        (_all, InstanceOrder::Created) => format!(
            "SELECT created_at, instance_id FROM instances INDEXED BY idx_instances_age
             WHERE (created_at, instance_id) {from} (:created, :id) AND created_at {to} :until
             ORDER BY created_at {direction}, instance_id {direction} LIMIT :limit"
        ),
        (_all, _by_id) => {
            // One bound on each side: of two, the index would take the first, however far it is.
            let range = match is_ascending {
                true => "instance_id >= max(:id, :id_from) AND instance_id < :id_end",
                false => {
                    "instance_id <= min(:id, :id_end) AND instance_id >= :id_from
                     AND +instance_id < :id_end"
                }
            };
            format!(
                "SELECT 0, instance_id FROM instances WHERE {range}
                 ORDER BY instance_id {direction} LIMIT :limit"
            )
        }
    }
}

/// Different names with a prefix, if they are not too many: one probe of the index each.
pub(super) fn names(
    conn: &Connection,
    prefix: &str,
    max: usize,
) -> Result<Option<Vec<String>>, JobError> {
    let end = end_of(prefix);
    let mut first = conn.prepare_cached(FIRST_NAME_SQL)?;
    let mut following = conn.prepare_cached(NEXT_NAME_SQL)?;
    let mut found: Vec<String> = Vec::new();
    while found.len() <= max {
        let name = match found.last() {
            None => first.query_row(params![prefix, end], |row| stored_id(row, 0)),
            Some(last) => following.query_row(params![last, end], |row| stored_id(row, 0)),
        };
        let Some(name) = name.optional()?.flatten() else { return Ok(Some(found)) };
        found.push(name);
    }
    Ok(None)
}

pub(super) const FIRST_NAME_SQL: &str =
    "SELECT orchestration_name FROM instances INDEXED BY idx_instances_name
     WHERE orchestration_name >= ?1 AND orchestration_name < ?2
     ORDER BY orchestration_name LIMIT 1";

pub(super) const NEXT_NAME_SQL: &str =
    "SELECT orchestration_name FROM instances INDEXED BY idx_instances_name
     WHERE orchestration_name > ?1 AND orchestration_name < ?2
     ORDER BY orchestration_name LIMIT 1";
