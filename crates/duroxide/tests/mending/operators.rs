//! Several operators, wrong calls, and stores that fail in between.

use std::sync::Arc;

use async_trait::async_trait;
use duroxide::client::{Client, MendPoint};
use duroxide::providers::{
    NewExecution, Provider, ProviderAdmin, ProviderError, ProviderErrorKind, forward_provider,
    forward_provider_admin,
};
use duroxide::{ClientError, OrchestrationContext};

use crate::support::{Node, Store, Workshop, is_conflict, options, orchestrations, refusal};

/// A store that cannot be reached when one instance is mended.
pub(crate) struct Obstacle {
    inner: Store,
    instance: &'static str,
}

impl Obstacle {
    pub(crate) fn on(store: &Store, instance: &'static str) -> Arc<Self> {
        Arc::new(Self { inner: Arc::clone(store), instance })
    }

    pub(crate) fn client(self: &Arc<Self>) -> Client {
        Client::new(Arc::clone(self) as Arc<dyn Provider>)
    }

    fn admin(&self) -> &dyn ProviderAdmin {
        self.inner.as_management_capability().unwrap()
    }
}

#[async_trait]
impl Provider for Obstacle {
    fn inner(&self) -> Option<&dyn Provider> {
        Some(&*self.inner)
    }

    fn as_management_capability(&self) -> Option<&dyn ProviderAdmin> {
        Some(self)
    }

    forward_provider! { this => this.inner }
}

#[async_trait]
impl ProviderAdmin for Obstacle {
    fn inner_admin(&self) -> Option<&dyn ProviderAdmin> {
        Some(self.admin())
    }

    async fn store_execution(&self, execution: NewExecution) -> Result<(), ProviderError> {
        if execution.instance == self.instance {
            let error = ProviderError::retryable("store_execution", "the network is down");
            return Err(error.with_kind(ProviderErrorKind::Unavailable));
        }
        self.admin().store_execution(execution).await
    }

    forward_provider_admin! { this => this.admin();
        list_instances, list_instances_by_status, list_executions, read_history_with_execution_id,
        read_history, latest_execution_id, get_instance_info, get_execution_info,
        get_system_metrics, get_queue_depths, list_children, get_parent_id,
        delete_instances_atomic, delete_instance_bulk, prune_executions, prune_executions_bulk,
    }
}

async fn one_step(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    ctx.schedule_activity("work", input).await
}

on_every_store!(of_two_operators_one_wins, wrong_calls_are_refused, a_failed_call_changes_nothing,);

async fn of_two_operators_one_wins(store: Store) {
    let shop = Workshop::default();
    shop.break_input("x", "no");
    let node = Node::start(&store, &shop, orchestrations().register("Step", one_step)).await;
    for round in 0..5 {
        let instance = format!("i{round}");
        node.start_instance(&instance, "Step", "x").await;
        node.failure(&instance).await;
        let options = options();
        let call = || node.client.retry_instance(&instance, &options);
        let (a, b, c) = tokio::join!(call(), call(), call());
        let results = [a, b, c];
        // A retry that comes later finds the instance running, or failed anew.
        let won = results.iter().filter(|result| result.is_ok()).count() as u64;
        assert!(won >= 1, "{results:?}");
        assert!(results.iter().all(|result| result.is_ok() || is_conflict(result)), "{results:?}");
        node.failure(&instance).await;
        assert_eq!(node.execution(&instance).await, 1 + won, "each that won is one execution");
    }
    node.stop().await;
}

async fn wrong_calls_are_refused(store: Store) {
    let shop = Workshop::default();
    let code = orchestrations()
        .register("Step", one_step)
        .register("Waits", |ctx: OrchestrationContext, _: String| async move {
            Ok(ctx.schedule_wait("go").await)
        });
    let node = Node::start(&store, &shop, code).await;
    node.start_instance("done", "Step", "x").await;
    node.output("done").await;
    node.start_instance("runs", "Waits", "").await;
    node.until_event("runs", "ExternalSubscribed").await;
    let (client, options) = (&node.client, options());
    for unknown in [
        client.retry_instance("ghost", &options).await,
        client.plan_retry("ghost", &options).await,
        client.reset_instance("ghost", MendPoint::First, &options).await,
        client.fork_instance("ghost", "copy", MendPoint::First, &options).await,
    ] {
        let Err(ClientError::InstanceNotFound { instance_id }) = unknown else {
            panic!("{unknown:?}")
        };
        assert_eq!(instance_id, "ghost");
    }
    for instance in ["done", "runs"] {
        for refused in [
            client.retry_instance(instance, &options).await,
            client.plan_retry(instance, &options).await,
            client.reset_instance(instance, MendPoint::LastFailed, &options).await,
        ] {
            assert!(is_conflict(&refused), "{instance}: {refused:?}");
        }
        let last = node.history(instance).await.len() as u64;
        for id in [0, last + 1] {
            let text =
                refusal(client.reset_instance(instance, MendPoint::Event(id), &options).await);
            assert!(text.contains("has no such event: choose one up to"), "{text}");
        }
        assert_eq!(node.execution(instance).await, 1);
    }
    // A reset of an instance that runs was refused before it was taken from its node.
    client.raise_event("runs", "go", "on").await.unwrap();
    assert_eq!(node.output("runs").await, "on");
    node.stop().await;
}

async fn a_failed_call_changes_nothing(store: Store) {
    let shop = Workshop::default();
    let code = orchestrations()
        .register("Waits", |ctx: OrchestrationContext, _: String| async move {
            Ok(ctx.schedule_wait("go").await)
        });
    let node = Node::start(&store, &shop, code).await;
    node.start_instance("i", "Waits", "").await;
    node.until_event("i", "ExternalSubscribed").await;
    let obstacle = Obstacle::on(&store, "i");
    let failed = obstacle.client().reset_instance("i", MendPoint::First, &options()).await;
    assert!(failed.is_err(), "{failed:?}");
    node.client.raise_event("i", "go", "on").await.unwrap();
    assert_eq!(node.output("i").await, "on", "the hold was released");
    node.stop().await;
}
