//! A node in a process of its own: this test executable, told so by its environment.

use std::io::Read;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use duroxide::RuntimeOptions;
use duroxide::runtime::Runtime;
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};

use crate::code::{Gates, activities, orchestrations};
use crate::diary::Diary;
use crate::place::{self, Place};

/// Makes the test executable be a node; its options as JSON.
const NODE: &str = "DUROXIDE_PROCESSES_NODE";

/// What a node is told.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Options {
    url: String,
    folder: String,
    pub(crate) turns: usize,
    pub(crate) activities: usize,
    pub(crate) turn_lease: Duration,
    pub(crate) work_lease: Duration,
    pub(crate) session_lease: Duration,
    pub(crate) attempts_max: u32,
    pub(crate) node_id: Option<String>,
}

/// Not a fact but the node: without its variable it has nothing to do.
#[test]
fn a_node_as_a_child() {
    let Ok(options) = std::env::var(NODE) else { return };
    let options: Options = serde_json::from_str(&options).unwrap();
    let tokio =
        tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap();
    tokio.block_on(work(options));
    std::process::exit(0);
}

async fn work(options: Options) {
    let folder = Path::new(&options.folder);
    let (diary, gates) = (Diary::new(folder), Gates::new(folder));
    let chosen = RuntimeOptions {
        orchestration_concurrency: options.turns,
        worker_concurrency: options.activities,
        orchestrator_lock_timeout: options.turn_lease,
        worker_lock_timeout: options.work_lease,
        worker_lock_renewal_buffer: Duration::ZERO,
        session_lock_timeout: options.session_lease,
        max_attempts: options.attempts_max,
        worker_node_id: options.node_id,
        ..RuntimeOptions::default()
    };
    let runtime = Runtime::start_with_options(
        place::open(&options.url).await,
        activities(&diary, &gates),
        orchestrations(&diary, &gates),
        chosen,
    )
    .await;
    let (over, is_over) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let mut ignored = Vec::new();
        std::io::stdin().read_to_end(&mut ignored).unwrap();
        over.send(()).unwrap();
    });
    is_over.await.unwrap();
    runtime.shutdown(None).await;
}

/// A running node. Dropping it kills it.
pub(crate) struct Node {
    child: Child,
    _stdin: ChildStdin,
}

impl Place {
    /// Options of a node on this store.
    pub(crate) fn options(&self) -> Options {
        Options {
            url: self.url.clone(),
            folder: self.folder.path().to_str().unwrap().to_owned(),
            turns: 4,
            activities: 4,
            turn_lease: Duration::from_secs(1),
            work_lease: Duration::from_secs(1),
            session_lease: Duration::from_secs(1),
            attempts_max: 10,
            node_id: None,
        }
    }

    pub(crate) fn node(&self, options: &Options) -> Node {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "node::a_node_as_a_child", "--nocapture"])
            .env(NODE, serde_json::to_string(options).unwrap())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take().unwrap();
        Node { child, _stdin: stdin }
    }
}

impl Node {
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn pause(&self) {
        self.signal(Signal::STOP);
    }

    pub(crate) fn resume(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits until the process has ended by itself.
    pub(crate) async fn ended(mut self) {
        let look = async {
            while self.child.try_wait().unwrap().is_none() {
                tokio::time::sleep(crate::diary::LOOK).await;
            }
        };
        tokio::time::timeout(crate::diary::PATIENCE, look).await.expect("it must end");
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // Fails if it is gone already, which is what is wanted.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
