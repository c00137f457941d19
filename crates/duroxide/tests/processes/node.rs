//! A node in a process of its own: this test executable, started with an environment variable.

use std::path::Path;
use std::time::Duration;

use duroxide::providers::WorkItem;
use duroxide::runtime::Runtime;
use duroxide::{RuntimeOptions, SemverRange, TagFilter};
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};

use crate::cluster::Cluster;
use crate::code::{Gates, activities, orchestrations};
use crate::journal::Journal;
use crate::node_process::{self, Node};
use crate::stores::Store;

/// Delay that a busy machine may add to a lease.
pub(crate) const MARGIN: Duration = Duration::from_secs(5);
/// A write that takes longer is blocked by another process.
const BLOCKED_AFTER: Duration = Duration::from_millis(400);

/// Options of a node.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Options {
    store: Store,
    folder: String,
    pub(crate) turns: usize,
    pub(crate) activities: usize,
    pub(crate) turn_lease: Duration,
    pub(crate) work_lease: Duration,
    pub(crate) session_lease: Duration,
    pub(crate) attempts_max: u32,
    pub(crate) node_id: Option<String>,
    /// The node runs activities with these tags only.
    pub(crate) tags: Option<Vec<String>>,
    /// The node replays executions of these versions only: the oldest and the newest.
    pub(crate) builds: Option<(String, String)>,
}

/// Not a test but the entry point of the node: without its variable it does nothing.
#[test]
fn run_as_node() {
    node_process::run_if_node(run);
}

async fn run(options: Options) {
    let folder = Path::new(&options.folder);
    let (journal, gates) = (Journal::new(folder), Gates::new(folder));
    let runtime_options = RuntimeOptions {
        orchestration_concurrency: options.turns,
        worker_concurrency: options.activities,
        orchestrator_lock_timeout: options.turn_lease,
        worker_lock_timeout: options.work_lease,
        worker_lock_renewal_buffer: Duration::ZERO,
        session_lock_timeout: options.session_lease,
        max_attempts: options.attempts_max,
        worker_node_id: options.node_id,
        worker_tag_filter: options.tags.map_or_else(TagFilter::default, TagFilter::tags),
        supported_replay_versions: options.builds.map(|(oldest, newest)| {
            SemverRange::new(oldest.parse().unwrap(), newest.parse().unwrap())
        }),
        ..RuntimeOptions::default()
    };
    let runtime = Runtime::start_with_options(
        options.store.open().await,
        activities(&journal, &gates),
        orchestrations(&journal, &gates),
        runtime_options,
    )
    .await;
    journal.write("up", "node");
    node_process::until_stopped().await;
    runtime.shutdown(None).await;
}

impl Cluster {
    /// Options of a node on this store.
    pub(crate) fn options(&self) -> Options {
        Options {
            store: self.store.clone(),
            folder: self.folder.path().to_str().unwrap().to_owned(),
            turns: 4,
            activities: 4,
            turn_lease: Duration::from_secs(2),
            work_lease: Duration::from_secs(2),
            session_lease: Duration::from_secs(2),
            attempts_max: 10,
            node_id: None,
            tags: None,
            builds: None,
        }
    }

    pub(crate) fn node(&self, options: &Options) -> Node {
        Node::spawn(options)
    }
}

impl Cluster {
    /// Pauses a node, but not while it holds a lock of the whole store: a node paused in a commit
    /// to a SQLite file would block all other writers until it resumes.
    pub(crate) async fn pause(&self, node: &Node) {
        let until_free = async {
            loop {
                node.pause();
                let message = WorkItem::ExternalRaised {
                    instance: "unknown".to_owned(),
                    name: "Free".to_owned(),
                    data: String::new(),
                };
                let written = self.provider.enqueue_for_orchestrator(message, None);
                if matches!(tokio::time::timeout(BLOCKED_AFTER, written).await, Ok(Ok(()))) {
                    return;
                }
                node.resume();
                tokio::time::sleep(crate::journal::POLL_INTERVAL).await;
            }
        };
        tokio::time::timeout(crate::journal::TIMEOUT, until_free)
            .await
            .expect("the node can be paused");
    }
}

impl Node {
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn pause(&self) {
        self.signal(Signal::STOP);
    }

    pub(crate) fn resume(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }
}
