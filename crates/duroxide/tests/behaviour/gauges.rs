//! Gauges are never in the way of work.

use std::sync::Arc;

use async_trait::async_trait;
use duroxide::OrchestrationContext;
use duroxide::providers::{
    Provider, ProviderAdmin, ProviderError, QueueDepths, StoreGauges, SystemMetrics,
};

use crate::support::{DEFAULT_MODE, Node, activities, memory, orchestrations};

/// A store whose gauges are never read to the end.
struct Slow(Arc<dyn Provider>);

impl Slow {
    fn admin(&self) -> &dyn ProviderAdmin {
        self.0.as_management_capability().expect("the store has a management side")
    }
}

#[async_trait]
impl Provider for Slow {
    fn inner(&self) -> Option<&dyn Provider> {
        Some(self.0.as_ref())
    }

    fn as_management_capability(&self) -> Option<&dyn ProviderAdmin> {
        Some(self)
    }

    duroxide::providers::forward_provider! { this => this.0 }
}

#[async_trait]
impl ProviderAdmin for Slow {
    fn inner_admin(&self) -> Option<&dyn ProviderAdmin> {
        Some(self.admin())
    }

    async fn get_system_metrics(&self) -> Result<SystemMetrics, ProviderError> {
        std::future::pending().await
    }

    async fn get_queue_depths(&self) -> Result<QueueDepths, ProviderError> {
        std::future::pending().await
    }

    async fn read_gauges(&self) -> Result<StoreGauges, ProviderError> {
        std::future::pending().await
    }

    duroxide::providers::forward_provider_admin! { this => this.admin();
        list_instances, list_instances_by_status, list_executions, read_history_with_execution_id,
        read_history, latest_execution_id, get_instance_info, get_execution_info, list_children,
        get_parent_id, delete_instances_atomic, delete_instance_bulk, prune_executions,
        prune_executions_bulk,
    }
}

async fn done(_: OrchestrationContext, _: String) -> Result<String, String> {
    Ok("done".to_owned())
}

/// A node used to count all history before its first turn.
#[tokio::test]
async fn no_turn_waits_for_the_gauges() {
    let store: Arc<dyn Provider> = Arc::new(Slow(memory().await));
    let registry = orchestrations().register("Done", done);
    let node = Node::on(&store, DEFAULT_MODE.options(), registry, activities()).await;
    node.start_instance("a", "Done", "").await;
    assert_eq!(node.output("a").await, "done");
    node.stop().await;
}
