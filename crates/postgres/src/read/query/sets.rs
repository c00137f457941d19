//! Sets of instances that an index finds.

use duroxide_core::providers::kit::{InstanceSet, prefix_end};

use crate::error::JobError;
use crate::schema::number::to_db;
use crate::schema::stored_text::{from_stored, stored};
use crate::store::Store;

/// The arguments of the function that lists a set.
#[derive(Debug, Default)]
struct SetArguments {
    kind: &'static str,
    texts: Vec<String>,
    ends: Vec<String>,
    from: i64,
    to: i64,
}

/// A text behind all ids that can be indexed.
pub(super) fn behind_all_ids() -> String {
    char::MAX.to_string().repeat(duroxide_core::limits::MAX_ID_BYTES / 4 + 1)
}

/// The end of the stored texts with a prefix.
pub(super) fn end_of(stored_prefix: &str) -> String {
    prefix_end(stored_prefix).unwrap_or_else(behind_all_ids)
}

/// The arguments for a set.
fn of(set: &InstanceSet) -> SetArguments {
    let with = |kind| SetArguments { kind, ..SetArguments::default() };
    let text = |kind, text: &str| SetArguments { texts: vec![stored(text)], ..with(kind) };
    match set {
        InstanceSet::Ids(ids) => {
            SetArguments { texts: ids.iter().map(|id| stored(id)).collect(), ..with("ids") }
        }
        InstanceSet::IdPrefix(prefix) => {
            let prefix = stored(prefix);
            SetArguments { ends: vec![end_of(&prefix)], texts: vec![prefix], ..with("id_prefix") }
        }
        InstanceSet::ChildrenOf(parent) => text("children", parent),
        InstanceSet::Named(name) => text("named", name),
        InstanceSet::Created(from, to) => {
            SetArguments { from: to_db(*from), to: to_db(*to), ..with("created") }
        }
        InstanceSet::Attribute { key, ranges } => {
            let starts = ranges.iter().map(|(start, _)| stored(start));
            SetArguments {
                texts: std::iter::once(stored(key)).chain(starts).collect(),
                ends: ranges.iter().map(|(_, end)| stored(end)).collect(),
                ..with("attribute")
            }
        }
        InstanceSet::Suspended => with("suspended"),
        InstanceSet::Unended => with("unended"),
        InstanceSet::Failed => with("failed"),
        InstanceSet::NotCompleted => with("not_completed"),
        // A set that this version does not know: every instance may be in it.
        _later => SetArguments { to: i64::MAX, ..with("created") },
    }
}

/// The ids of a set; `None` if there are more than `max`.
pub(super) async fn members(
    store: &Store,
    set: &InstanceSet,
    max: usize,
) -> Result<Option<Vec<String>>, JobError> {
    let SetArguments { kind, texts, ends, from, to } = of(set);
    let enough = to_db(max as u64 + 1);
    let rows = store
        .query(
            "SELECT o_instance FROM {schema}.instance_set{v}($1, $2, $3, $4, $5, $6)",
            &[&kind, &texts, &ends, &from, &to, &enough],
        )
        .await?;
    let ids = || rows.iter().map(|row| from_stored(row.get("o_instance"))).collect();
    Ok((rows.len() <= max).then(ids))
}
