//! `duroxide nodes`.

use clap::Args;
use duroxide::providers::{LiveWorker, TagFilter};
use serde::Serialize;

use crate::failure::Result;
use crate::output::{Column, List, Record, Styled, iso};
use crate::session::Session;

/// List the live nodes, and what each of them can run
///
/// A node is live from its start until its shutdown. A node that dies counts as live for another
/// 90 seconds.
#[derive(Debug, Args)]
pub(crate) struct NodesArgs {}

#[derive(Debug, Serialize)]
struct Node {
    node_id: String,
    /// `null` for a node of a release that does not report it.
    build: Option<String>,
    replays: Option<Vec<Range>>,
    /// Names with their versions; `null` for a node that does not report them.
    orchestrations: Option<Vec<Orchestration>>,
    activities: Vec<String>,
    tags: Tags,
    expires_at_ms: u64,
}

#[derive(Debug, Serialize)]
struct Range {
    min: String,
    max: String,
}

#[derive(Debug, Serialize)]
struct Orchestration {
    name: String,
    versions: Vec<String>,
}

/// Which activities a node claims.
#[derive(Debug, Serialize)]
struct Tags {
    /// `default_only`, `default_and`, `only`, `any` or `none`.
    kind: &'static str,
    names: Vec<String>,
}

impl From<&TagFilter> for Tags {
    fn from(filter: &TagFilter) -> Self {
        let sorted = |tags: &std::collections::HashSet<String>| {
            let mut names: Vec<String> = tags.iter().cloned().collect();
            names.sort_unstable();
            names
        };
        let (kind, names) = match filter {
            TagFilter::DefaultOnly => ("default_only", Vec::new()),
            TagFilter::Tags(tags) => ("only", sorted(tags)),
            TagFilter::DefaultAnd(tags) => ("default_and", sorted(tags)),
            TagFilter::Any => ("any", Vec::new()),
            TagFilter::None => ("none", Vec::new()),
        };
        Self { kind, names }
    }
}

impl From<LiveWorker> for Node {
    fn from(node: LiveWorker) -> Self {
        let turns = node.turns.as_ref();
        let versions = |turns: &duroxide::providers::AnnouncedTurns| {
            let named = turns.orchestrations.versions().iter();
            let listed = named.map(|(name, versions)| Orchestration {
                name: name.clone(),
                versions: versions.iter().map(ToString::to_string).collect(),
            });
            listed.collect()
        };
        let replays = |turns: &duroxide::providers::AnnouncedTurns| {
            let ranges = turns.replays.iter();
            let listed = ranges
                .map(|range| Range { min: range.min.to_string(), max: range.max.to_string() });
            listed.collect()
        };
        Self {
            build: turns.map(|turns| turns.build.to_string()),
            replays: turns.map(replays),
            orchestrations: turns.map(versions),
            tags: Tags::from(&node.tag_filter),
            node_id: node.node_id,
            activities: node.activities,
            expires_at_ms: node.expires_at_ms,
        }
    }
}

impl Record for Node {
    const COLUMNS: &'static [Column] = &[
        Column::new("NODE"),
        Column::new("BUILD"),
        Column::new("ORCHESTRATIONS"),
        Column::new("ACTIVITIES"),
        Column::new("TAGS"),
        Column::wide("EXPIRES"),
    ];

    fn cells(&self) -> Vec<Styled> {
        let listed = |entry: &Orchestration| format!("{} {}", entry.name, entry.versions.join("/"));
        let orchestrations = self.orchestrations.as_ref().map_or_else(
            || "unknown".to_owned(),
            |all| all.iter().map(listed).collect::<Vec<_>>().join(", "),
        );
        let tags = [&[self.tags.kind.to_owned()], self.tags.names.as_slice()].concat().join(" ");
        vec![
            self.node_id.as_str().into(),
            self.build.clone().unwrap_or_else(|| "unknown".to_owned()).into(),
            orchestrations.into(),
            self.activities.join(", ").into(),
            tags.into(),
            iso(self.expires_at_ms).into(),
        ]
    }

    fn id(&self) -> &str {
        &self.node_id
    }
}

pub(crate) async fn run(_: NodesArgs, session: &mut Session) -> Result<()> {
    let client = session.reader().await?;
    let nodes: Vec<Node> = client.list_live_nodes().await?.into_iter().map(Node::from).collect();
    List::write(&mut session.out, &nodes)?;
    if nodes.is_empty() && session.out.format().is_for_people() {
        return session.out.note("no node is live");
    }
    Ok(())
}
