//! A node in a process of its own: this test executable, started with an environment variable.

use std::io::Read;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::journal::{POLL_INTERVAL, TIMEOUT};

/// If this variable is set, the test executable runs as a node; it holds the options as JSON.
const NODE: &str = "DUROXIDE_TEST_NODE";

/// The test that is the entry point of a node: it calls [`run_if_node`] and does nothing else.
const ENTRY: &str = "node::run_as_node";

/// A running node. Dropping it kills it.
pub(crate) struct Node {
    pub(crate) child: Child,
    /// The node stops when this ends.
    pub(crate) stdin: Option<ChildStdin>,
}

impl Node {
    pub(crate) fn spawn(options: &impl Serialize) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", ENTRY, "--nocapture"])
            .env(NODE, serde_json::to_string(options).unwrap())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take();
        Self { child, stdin }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until the process exits on its own.
    pub(crate) async fn wait_until_exit(mut self) -> ExitStatus {
        let exit = async {
            loop {
                if let Some(status) = self.child.try_wait().unwrap() {
                    return status;
                }
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        };
        tokio::time::timeout(TIMEOUT, exit).await.expect("the process exits")
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        drop(self.stdin.take());
        // Fails only if the process has already exited.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Runs a node and exits, if this process is one.
pub(crate) fn run_if_node<O: DeserializeOwned>(run: impl AsyncFnOnce(O)) {
    let Ok(options) = std::env::var(NODE) else { return };
    let options = serde_json::from_str(&options).unwrap();
    let tokio =
        tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap();
    tokio.block_on(run(options));
    std::process::exit(0);
}

/// Waits, in the process of a node, until the test stops it or dies.
pub(crate) async fn until_stopped() {
    let (stop, stopped) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let mut ignored = Vec::new();
        std::io::stdin().read_to_end(&mut ignored).unwrap();
        stop.send(()).unwrap();
    });
    stopped.await.unwrap();
}
