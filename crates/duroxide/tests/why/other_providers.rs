//! A provider that has only the methods of 0.1.x still gets an answer.

use std::sync::Arc;

use async_trait::async_trait;
use duroxide::providers::{Provider, ProviderAdmin, ProviderCapabilities};
use duroxide::runtime::RuntimeOptions;
use duroxide::{Client, ClientError};

use crate::world::{World, activities, approval};

on_every_store!(a_provider_without_extras_is_explained_by_its_histories);

/// A store that implements nothing beyond the required methods of the management side.
struct Plain(Arc<dyn Provider>);

impl Plain {
    fn admin(&self) -> &dyn ProviderAdmin {
        self.0.as_management_capability().expect("the store has a management side")
    }
}

#[async_trait]
impl Provider for Plain {
    fn inner(&self) -> Option<&dyn Provider> {
        Some(self.0.as_ref())
    }

    fn as_management_capability(&self) -> Option<&dyn ProviderAdmin> {
        Some(self)
    }

    fn capabilities(&self) -> ProviderCapabilities {
        ProviderCapabilities::default()
    }

    duroxide::providers::forward_provider! { this => this.0 }
}

#[async_trait]
impl ProviderAdmin for Plain {
    duroxide::providers::forward_provider_admin! { this => this.admin();
        list_instances, list_instances_by_status, list_executions, read_history_with_execution_id,
        read_history, latest_execution_id, get_instance_info, get_execution_info,
        get_system_metrics, get_queue_depths, list_children, get_parent_id,
        delete_instances_atomic, delete_instance_bulk, prune_executions, prune_executions_bulk,
    }
}

async fn a_provider_without_extras_is_explained_by_its_histories(world: World) {
    let node = world.node(RuntimeOptions::default(), approval(), activities()).await;
    world.start("order-7", "Order").await;
    world.until("order-7", |why| why.waits.total > 0).await;
    node.shutdown(None).await;
    world.client.raise_event("order-7", "Approval", "unread").await.unwrap();
    world.start("other", "Order").await;
    let plain = World {
        client: Client::new(Arc::new(Plain(Arc::clone(&world.store)))),
        store: world.store,
        clock: world.clock,
    };
    plain
        .expect(
            "order-7",
            "
order-7 waits for event `Approval`
  try: duroxide raise order-7 Approval  (delivers the event; add DATA)

orchestration `Order 1.0.0`, execution 1, 2 events
last changed 2023-11-14 22:13:20Z (now)
events waited for (1):
  `Approval` since 2023-11-14 22:13:20Z (now)
next turn:
  the provider does not report what the queues hold
",
        )
        .await;
    // Only the store knows of a start that no node has committed.
    let unknown = plain.client.why("other").await;
    assert!(matches!(unknown, Err(ClientError::InstanceNotFound { .. })), "{unknown:?}");
}
