//! A node of the cluster, and its replacement by another one.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use duroxide::RuntimeOptions;
use duroxide::runtime::{Runtime, test_hooks};
use serde::{Deserialize, Serialize};

use crate::cluster::Cluster;
use crate::code;
use crate::counted_fetches::CountedFetches;
use crate::deployment::Deployment;
use crate::journal::Journal;
use crate::node_process::{self, Node};
use crate::stores::Store;

/// Long, because no node is killed here and no lease may expire on a busy machine.
const LEASE: Duration = Duration::from_secs(60);

/// Longer than any activity takes, so that a stopping node completes all that it has started.
const SHUTDOWN_GRACE_MS: u64 = 20_000;

#[derive(Debug, Serialize, Deserialize)]
struct Options {
    store: Store,
    folder: String,
    deployment: Deployment,
}

/// Not a test but the entry point of the node: without its variable it does nothing.
#[test]
fn run_as_node() {
    node_process::run_if_node(run);
}

async fn run(options: Options) {
    let Options { store, folder, deployment } = options;
    test_hooks::act_as_version(deployment.build());
    let journal = Journal::new(Path::new(&folder));
    let counted =
        CountedFetches { inner: store.open().await, journal: journal.clone(), deployment };
    let runtime_options = RuntimeOptions {
        orchestrator_lock_timeout: LEASE,
        worker_lock_timeout: LEASE,
        ..RuntimeOptions::default()
    };
    let runtime = Runtime::start_with_options(
        Arc::new(counted),
        code::activities(deployment.activities(), &journal),
        deployment.orchestrations(),
        runtime_options,
    )
    .await;
    journal.write("up", "node");
    node_process::until_stopped().await;
    runtime.shutdown(Some(SHUTDOWN_GRACE_MS)).await;
}

impl Cluster {
    /// Starts a node and waits until it runs.
    pub(crate) async fn node(&self, deployment: Deployment) -> Node {
        let folder = self.folder.path().to_str().unwrap().to_owned();
        let node = Node::spawn(&Options { store: self.store.clone(), folder, deployment });
        self.journal.wait("up", "node", node.id()).await;
        node
    }

    pub(crate) async fn three_nodes(&self, deployment: Deployment) -> [Node; 3] {
        [self.node(deployment).await, self.node(deployment).await, self.node(deployment).await]
    }
}

impl Node {
    /// Stops the node as a deployment does: it completes what it has started.
    pub(crate) async fn stop(mut self) {
        drop(self.stdin.take());
        let status = self.wait_until_exit().await;
        assert!(status.success(), "a node shuts down in order, not with {status}");
    }
}
