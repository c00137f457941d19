//! The live nodes of the cluster, as this node sees them.

use super::announcing::node_id;
use super::node::Node;
use crate::client::LiveNodes;
use crate::providers::ProviderError;

/// The live nodes. `None` if this node is not among them: then its announcement has failed, and the
/// list proves nothing about others.
pub(crate) async fn read(node: &Node) -> Result<Option<LiveNodes>, ProviderError> {
    let Some(admin) = node.provider.as_management_capability() else { return Ok(None) };
    let live = admin.list_live_workers().await?;
    let own = node_id(node);
    Ok(live.iter().any(|node| node.node_id == own).then(|| LiveNodes::new(live)))
}
