//! The next keys in the order of a query, from an index.

use duroxide_core::providers::InstanceOrder;
use duroxide_core::providers::kit::{KeyRequest, KeySource, RowKey};
use tokio_postgres::Row;

use super::sets::{behind_all_ids, end_of};
use crate::error::JobError;
use crate::schema::number::{from_db, to_db};
use crate::schema::stored_text::{from_stored, stored};
use crate::store::Store;

/// Reads the next keys.
pub(super) async fn read(store: &Store, request: &KeyRequest<'_>) -> Result<Vec<RowKey>, JobError> {
    let begin = Begin::of(request);
    let Begin { created, id, until } = &begin;
    let limit = to_db(request.limit as u64);
    let direction = usize::from(!request.is_ascending);
    let rows = match (request.source, request.order) {
        (KeySource::Ids(ids), _) => {
            let ids: Vec<String> = ids.iter().map(|id| stored(id)).collect();
            store.query(IDS_BY_AGE[direction], &[&ids, created, id, until, &limit]).await?
        }
        (KeySource::Names(names), _) => {
            let names: Vec<String> = names.iter().map(|name| stored(name)).collect();
            store.query(BY_NAME[direction], &[&names, created, id, until, &limit]).await?
        }
        (KeySource::IdPrefix(prefix), _) => {
            let prefix = stored(prefix);
            let end = end_of(&prefix);
            store.query(BY_ID[direction], &[id, &prefix, &end, &limit]).await?
        }
        (_all, InstanceOrder::Created) => {
            store.query(BY_AGE[direction], &[created, id, until, &limit]).await?
        }
        (_all, _by_id) => {
            store.query(BY_ID[direction], &[id, &"", &behind_all_ids(), &limit]).await?
        }
    };
    Ok(rows.iter().map(key).collect())
}

/// Where a search begins, and the last time of creation in its direction.
struct Begin {
    created: i64,
    id: String,
    until: i64,
}

impl Begin {
    fn of(request: &KeyRequest<'_>) -> Self {
        let is_ascending = request.is_ascending;
        let (earliest, latest) = (to_db(request.created.0), to_db(request.created.1));
        let (begin, until) = if is_ascending { (earliest, latest) } else { (latest, earliest) };
        let from = request.from.filter(|key| {
            let at = to_db(key.created_at);
            // What lies before the range of creation is left out.
            request.order == InstanceOrder::Id
                || if is_ascending { at >= begin } else { at <= begin }
        });
        let first_id = || if is_ascending { String::new() } else { behind_all_ids() };
        match from {
            Some(key) => Self { created: to_db(key.created_at), id: stored(&key.id), until },
            None => Self { created: begin, id: first_id(), until },
        }
    }
}

fn key(row: &Row) -> RowKey {
    RowKey { created_at: from_db(row.get("created_at")), id: from_stored(row.get("instance_id")) }
}

/// A statement in both directions.
macro_rules! both {
    ($statement:ident) => {
        [$statement!(">=", "<=", "ASC"), $statement!("<=", ">=", "DESC")]
    };
}

macro_rules! by_age {
    ($from:literal, $to:literal, $direction:literal) => {
        concat!(
            "SELECT created_at, instance_id FROM {schema}.instances
             WHERE (created_at, instance_id) ",
            $from,
            " ($1, $2) AND created_at ",
            $to,
            " $3 ORDER BY created_at ",
            $direction,
            ", instance_id ",
            $direction,
            " LIMIT $4"
        )
    };
}

macro_rules! by_id {
    ($from:literal, $to:literal, $direction:literal) => {
        concat!(
            "SELECT 0::BIGINT AS created_at, instance_id FROM {schema}.instances
             WHERE instance_id ",
            $from,
            " $1 AND instance_id >= $2 AND instance_id < $3 ORDER BY instance_id ",
            $direction,
            " LIMIT $4"
        )
    };
}

macro_rules! by_name {
    ($from:literal, $to:literal, $direction:literal) => {
        concat!(
            "SELECT k.created_at, k.instance_id FROM unnest($1::TEXT[]) AS n (name)
             CROSS JOIN LATERAL (
                 SELECT i.created_at, i.instance_id FROM {schema}.instances i
                 WHERE left(i.orchestration_name, 64) COLLATE \"C\" = left(n.name, 64) COLLATE \"C\"
                     AND i.orchestration_name = n.name
                     AND (i.created_at, i.instance_id) ",
            $from,
            " ($2, $3) AND i.created_at ",
            $to,
            " $4 ORDER BY i.created_at ",
            $direction,
            ", i.instance_id ",
            $direction,
            " LIMIT $5) AS k
             ORDER BY k.created_at ",
            $direction,
            ", k.instance_id ",
            $direction,
            " LIMIT $5"
        )
    };
}

// Each is looked up by itself: a limit keeps the server from joining.
macro_rules! ids_by_age {
    ($from:literal, $to:literal, $direction:literal) => {
        concat!(
            "SELECT i.created_at, i.instance_id
             FROM (SELECT DISTINCT k.id FROM unnest($1::TEXT[]) AS k (id)) AS s
             CROSS JOIN LATERAL (
                 SELECT j.created_at, j.instance_id FROM {schema}.instances j
                 WHERE j.instance_id = s.id LIMIT 1) AS i
             WHERE (i.created_at, i.instance_id) ",
            $from,
            " ($2, $3) AND i.created_at ",
            $to,
            " $4 ORDER BY i.created_at ",
            $direction,
            ", i.instance_id ",
            $direction,
            " LIMIT $5"
        )
    };
}

const BY_AGE: [&str; 2] = both!(by_age);
const BY_ID: [&str; 2] = both!(by_id);
const BY_NAME: [&str; 2] = both!(by_name);
const IDS_BY_AGE: [&str; 2] = both!(ids_by_age);

/// Characters of a name that the index has.
const NAME_INDEXED: usize = 64;

/// Different names with a prefix; `None` if there are too many, or if one is longer than what the
/// index has of it.
pub(super) async fn names(
    store: &Store,
    prefix: &str,
    max: usize,
) -> Result<Option<Vec<String>>, JobError> {
    let prefix = stored(prefix);
    let rows = store
        .query(
            "WITH RECURSIVE found (name) AS (
                 (SELECT left(i.orchestration_name, 64) COLLATE \"C\" FROM {schema}.instances i
                  WHERE left(i.orchestration_name, 64) COLLATE \"C\" >= left($1, 64) COLLATE \"C\"
                  ORDER BY left(i.orchestration_name, 64) COLLATE \"C\" LIMIT 1)
                 UNION ALL
                 SELECT (
                     SELECT left(i.orchestration_name, 64) COLLATE \"C\" FROM {schema}.instances i
                     WHERE left(i.orchestration_name, 64) COLLATE \"C\" > f.name
                     ORDER BY left(i.orchestration_name, 64) COLLATE \"C\" LIMIT 1)
                 FROM found f WHERE f.name < $2 COLLATE \"C\"
             )
             SELECT name FROM found WHERE name < $2 COLLATE \"C\" LIMIT $3",
            &[&prefix, &end_of(&prefix), &to_db(max as u64 + 1)],
        )
        .await?;
    let names: Vec<String> = rows.iter().map(|row| row.get("name")).collect();
    let is_whole = names.iter().all(|name| name.chars().count() < NAME_INDEXED);
    Ok((is_whole && names.len() <= max).then(|| names.into_iter().map(from_stored).collect()))
}
