//! How listed instances are related.

use std::collections::{HashMap, HashSet};

use crate::error::JobError;
use crate::schema::stored_text::{from_stored, stored};
use crate::store::Store;

/// What is known of listed instances.
#[derive(Debug)]
pub(crate) struct Family {
    /// The first that runs.
    pub(crate) running: Option<String>,
    /// The first that has a child which is not listed, and the child.
    pub(crate) unlisted_child: Option<(String, String)>,
    /// All, each before its children.
    pub(crate) parents_first: Vec<String>,
}

/// Reads the family of instances.
pub(crate) async fn read(store: &Store, ids: &[String]) -> Result<Family, JobError> {
    let stored_ids: Vec<String> = ids.iter().map(|id| stored(id)).collect();
    let rows = store.query(FAMILY_SQL, &[&stored_ids]).await?;
    let listed: HashSet<&str> = ids.iter().map(String::as_str).collect();
    let mut parents: HashMap<String, String> = HashMap::new();
    let (mut running, mut child) = (HashSet::new(), HashMap::new());
    for row in &rows {
        let instance = from_stored(row.get("instance_id"));
        let parent = row.get::<_, Option<String>>("parent_instance_id").map(from_stored);
        if row.get("running") && listed.contains(instance.as_str()) {
            running.insert(instance.clone());
        }
        let Some(parent) = parent.filter(|parent| listed.contains(parent.as_str())) else {
            continue;
        };
        if listed.contains(instance.as_str()) {
            parents.insert(instance, parent);
        } else {
            child.entry(parent).or_insert(instance);
        }
    }
    Ok(Family {
        running: ids.iter().find(|id| running.contains(*id)).cloned(),
        unlisted_child: ids.iter().find_map(|id| child.remove_entry(id)),
        parents_first: order(ids, &parents),
    })
}

/// Each before all whose parent it is. A cycle of parents, which cannot be, comes first.
fn order(ids: &[String], parents: &HashMap<String, String>) -> Vec<String> {
    let mut children: HashMap<&str, usize> = HashMap::new();
    for parent in parents.values() {
        *children.entry(parent).or_default() += 1;
    }
    let mut ordered: Vec<String> = Vec::with_capacity(ids.len());
    let mut placed = HashSet::new();
    let is_leaf = |id: &&String| !children.contains_key(id.as_str());
    let mut leaves: Vec<&str> = ids.iter().filter(is_leaf).map(String::as_str).collect();
    while let Some(id) = leaves.pop() {
        if !placed.insert(id) {
            continue;
        }
        ordered.push(id.to_owned());
        let Some(parent) = parents.get(id) else { continue };
        if let Some(left) = children.get_mut(parent.as_str()) {
            *left -= 1;
            if *left == 0 {
                leaves.push(parent);
            }
        }
    }
    let rest = ids.iter().filter(|id| !placed.contains(id.as_str()));
    ordered.extend(rest.cloned().collect::<Vec<_>>());
    ordered.reverse();
    ordered
}

const FAMILY_SQL: &str = "SELECT i.instance_id, i.parent_instance_id,
         coalesce({schema}.instance_status{v}(i.instance_id, e.status) = 'Running', FALSE)
             AS running
     FROM (
         SELECT l.instance_id, l.parent_instance_id, l.current_execution_id
         FROM {schema}.instances l WHERE l.instance_id = ANY ($1)
         UNION
         SELECT c.instance_id, c.parent_instance_id, c.current_execution_id
         FROM {schema}.instances c WHERE c.parent_instance_id = ANY ($1)
     ) AS i
     LEFT JOIN {schema}.executions e
         ON e.instance_id = i.instance_id AND e.execution_id = i.current_execution_id";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_come_before_their_children() {
        let ids: Vec<String> = ["root", "a", "b", "a1", "other"].map(str::to_owned).to_vec();
        let parents = [("a", "root"), ("b", "root"), ("a1", "a")];
        let parents = parents.map(|(child, parent)| (child.to_owned(), parent.to_owned()));
        let ordered = order(&ids, &HashMap::from(parents.clone()));
        assert_eq!(ordered.len(), ids.len());
        let place = |id: &str| ordered.iter().position(|it| it == id).unwrap();
        for (child, parent) in &parents {
            assert!(place(parent) < place(child), "{ordered:?}");
        }
    }

    #[test]
    fn a_cycle_of_parents_loses_no_instance() {
        let ids: Vec<String> = ["a", "b", "c"].map(str::to_owned).to_vec();
        let parents = [("a", "b"), ("b", "a")];
        let parents = parents.map(|(child, parent)| (child.to_owned(), parent.to_owned()));
        assert_eq!(order(&ids, &HashMap::from(parents)).len(), 3);
    }
}
