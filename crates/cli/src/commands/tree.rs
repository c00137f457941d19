//! `duroxide tree`.

use std::collections::HashMap;

use clap::Args;
use duroxide::InstanceInfo;
use serde::Serialize;

use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::limits;
use crate::output::{Column, List, Record, Styled, tone_of_status};
use crate::session::Session;

/// Show an instance with its children and their children
#[derive(Debug, Args)]
pub(crate) struct TreeArgs {
    /// The instance at the top
    id: String,
}

#[derive(Debug, Serialize)]
struct Node {
    instance_id: String,
    parent_instance_id: Option<String>,
    /// Zero for the instance at the top.
    depth: usize,
    orchestration_name: String,
    orchestration_version: String,
    status: String,
    #[serde(skip)]
    drawn: String,
}

impl Record for Node {
    const COLUMNS: &'static [Column] =
        &[Column::new("ID"), Column::new("NAME"), Column::new("VERSION"), Column::new("STATUS")];

    fn cells(&self) -> Vec<Styled> {
        vec![
            self.drawn.as_str().into(),
            self.orchestration_name.as_str().into(),
            self.orchestration_version.as_str().into(),
            Styled::new(self.status.clone(), tone_of_status(&self.status)),
        ]
    }

    fn id(&self) -> &str {
        &self.instance_id
    }
}

pub(crate) async fn run(args: TreeArgs, session: &mut Session) -> Result<()> {
    let client = session.reader().await?;
    let top = client.get_instance_info(&args.id).await?;
    let tree = client.get_instance_tree(&args.id).await?;
    let shown = tree.all_ids.iter().filter(|id| **id != args.id).take(limits::TREE_MAX - 1);
    let mut children: HashMap<String, Vec<InstanceInfo>> = HashMap::new();
    for id in shown {
        let info = match client.get_instance_info(id).await.map_err(Failure::from) {
            // One that was deleted meanwhile is no part of the tree any more.
            Err(failure) if failure.exit() == Exit::NotFound => continue,
            read => read?,
        };
        children.entry(info.parent_instance_id.clone().unwrap_or_default()).or_default().push(info);
    }
    let nodes = laid_out(top, children);
    List::write(&mut session.out, &nodes)?;
    if tree.size() > limits::TREE_MAX {
        let more = tree.size() - limits::TREE_MAX;
        session.out.note(&format!("{more} more instances are not shown"))?;
    }
    Ok(())
}

/// One level that is being drawn: its instances, and what stands in front of them.
struct Level {
    rest: std::vec::IntoIter<InstanceInfo>,
    prefix: String,
}

/// The instances in the order of a drawing, children behind their parents.
fn laid_out(top: InstanceInfo, mut children: HashMap<String, Vec<InstanceInfo>>) -> Vec<Node> {
    let mut below = |id: &str, prefix: String| {
        let mut rest = children.remove(id).unwrap_or_default();
        rest.sort_by_key(|info| info.created_at);
        Level { rest: rest.into_iter(), prefix }
    };
    let mut levels = vec![below(&top.instance_id, String::new())];
    let mut nodes = vec![node(top, 0, "")];
    while let Some(level) = levels.last_mut() {
        let Some(info) = level.rest.next() else {
            levels.pop();
            continue;
        };
        let (branch, bar) =
            if level.rest.len() > 0 { ("├─ ", "│  ") } else { ("└─ ", "   ") };
        let drawn = format!("{}{branch}", level.prefix);
        let prefix = format!("{}{bar}", level.prefix);
        let lower = below(&info.instance_id, prefix);
        nodes.push(node(info, levels.len(), &drawn));
        levels.push(lower);
    }
    nodes
}

fn node(info: InstanceInfo, depth: usize, branch: &str) -> Node {
    Node {
        drawn: format!("{branch}{}", info.instance_id),
        instance_id: info.instance_id,
        parent_instance_id: info.parent_instance_id,
        depth,
        orchestration_name: info.orchestration_name,
        orchestration_version: info.orchestration_version,
        status: info.status.to_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(id: &str, parent: Option<&str>, created_at: u64) -> InstanceInfo {
        InstanceInfo {
            instance_id: id.to_owned(),
            orchestration_name: "O".to_owned(),
            orchestration_version: "1.0.0".to_owned(),
            current_execution_id: 1,
            status: "Running".to_owned(),
            output: None,
            created_at,
            updated_at: created_at,
            parent_instance_id: parent.map(str::to_owned),
        }
    }

    #[test]
    fn children_stand_behind_their_parent_in_the_order_of_their_creation() {
        let mut children: HashMap<String, Vec<InstanceInfo>> = HashMap::new();
        for child in [info("c", Some("a"), 3), info("b", Some("a"), 2), info("d", Some("b"), 4)] {
            let parent = child.parent_instance_id.clone().unwrap();
            children.entry(parent).or_default().push(child);
        }
        let nodes = laid_out(info("a", None, 1), children);
        let drawn: Vec<&str> = nodes.iter().map(|node| node.drawn.as_str()).collect();
        assert_eq!(drawn, ["a", "├─ b", "│  └─ d", "└─ c"]);
        assert_eq!(nodes.iter().map(|node| node.depth).collect::<Vec<_>>(), [0, 1, 2, 1]);
    }
}
