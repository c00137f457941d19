//! Work that no live node can run is listed, and fails if a node sets a limit.

use std::sync::Arc;
use std::time::Duration;

use duroxide_core::OrchestrationContext;
use duroxide_core::client::{Client, StrandedWorkQuery};
use duroxide_core::providers::{
    FetchFilter, Provider, ProviderAdmin, RegisteredOrchestrations, StrandedTurnQuery,
};
use duroxide_core::runtime::{
    ActivityRegistry, OrchestrationRegistry, OrchestrationStatus, Runtime, RuntimeOptions,
};
use semver::Version;

use crate::support::*;

const TIMEOUT: Duration = Duration::from_secs(60);

fn node_options() -> RuntimeOptions {
    RuntimeOptions { worker_concurrency: 2, ..RuntimeOptions::default() }
}

fn orchestrations() -> OrchestrationRegistry {
    let calls = |ctx: OrchestrationContext, _: String| async move {
        ctx.schedule_sub_orchestration("Chlid", "").await
    };
    let mails = |ctx: OrchestrationContext, _: String| async move {
        ctx.schedule_activity("Mial", "").await
    };
    let resizes = |ctx: OrchestrationContext, _: String| async move {
        ctx.schedule_activity_on_session("Resize", "", "s").with_tag("gpu").await
    };
    OrchestrationRegistry::builder()
        .register("Parent", calls)
        .register("Mailer", mails)
        .register("Resizer", resizes)
        .build()
}

async fn start_node(store: &Store, options: RuntimeOptions) -> Arc<Runtime> {
    let activities = ActivityRegistry::builder().build();
    let provider = store.node().await;
    Runtime::start_with_options(provider, activities, orchestrations(), options).await
}

#[tokio::test]
async fn stranded_work_is_listed_and_fails_after_a_limit() {
    let store = Store::live();
    let client = Client::new(store.node().await);
    let patient = start_node(&store, node_options()).await;
    let instances = [("parent", "Parent"), ("mailer", "Mailer"), ("resizer", "Resizer")];
    for (instance, orchestration) in instances {
        client.start_orchestration(instance, orchestration, "").await.unwrap();
    }
    let wanted = [
        "'mailer' waits for activity `Mial`: no live node has registered it",
        "'parent::sub::2' waits for orchestration `Chlid`: no live node has registered it",
        "'resizer' waits for activity `Resize` with tag `gpu`: no live node serves its tag",
    ];
    let listed = tokio::time::timeout(TIMEOUT, async {
        loop {
            let page = client.list_stranded_work(StrandedWorkQuery::new(10)).await.unwrap();
            let mut texts: Vec<String> = page.work.iter().map(ToString::to_string).collect();
            texts.sort_unstable();
            if texts == wanted {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    listed.await.expect("all three are listed");

    // Two sweep at the same time.
    let limit = Duration::from_millis(500);
    let sweeping = || node_options().with_stranded_work_limit(limit);
    let sweepers = [start_node(&store, sweeping()).await, start_node(&store, sweeping()).await];
    for (instance, _) in instances {
        let status = client.wait_for_orchestration(instance, TIMEOUT).await.unwrap();
        let is_stranded = matches!(&status,
            OrchestrationStatus::Failed { details, .. } if details.is_stranded());
        assert!(is_stranded, "{instance}: {status:?}");
    }
    let sql = store.sql().await;
    let failures = "SELECT count(*) FROM $.history WHERE event_type LIKE '%Failed'";
    // Four instances, two activities and the call of the child.
    assert_eq!(sql.count(failures).await, 7, "each failed once");
    for node in [patient].into_iter().chain(sweepers) {
        node.shutdown(None).await;
    }
}

/// An outdated message at the head of a route once hid all stranded turns behind it.
#[tokio::test]
async fn a_stranded_route_is_listed_whatever_its_first_message_is() {
    let store = Store::new();
    let node = store.node().await;
    for instance in ["ended", "waits"] {
        create(&*node, instance).await;
    }
    for instance in ["ended", "waits"] {
        node.enqueue_for_orchestrator(signal(instance, "go"), None).await.unwrap();
    }
    let end = "UPDATE $.executions SET status = 'Completed' WHERE instance_id = 'ended'";
    store.sql().await.run(end).await;
    let other = RegisteredOrchestrations::new([("Other", Version::new(1, 0, 0))]);
    let filter = FetchFilter::everything().with_orchestrations(other);
    let query = StrandedTurnQuery::new(vec![filter], 10);
    let page = node.list_stranded_turns(query).await.unwrap();
    let listed: Vec<&str> = page.turns.iter().map(|turn| turn.instance_id.as_str()).collect();
    assert_eq!(listed, ["waits"]);
}
