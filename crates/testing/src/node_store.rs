//! The store as a node sees it: it can be cut off, as by a crash.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use duroxide_conformance::reference::MemoryProvider;
use duroxide_core::providers::{
    CommittedTurn, DirectTurn, FetchedTurn, FetchedWork, Provider, ProviderError, TurnCommit,
    TurnFetch, WorkFetch, WorkItem, WorkerAnnouncement,
};

use crate::gate::{Gate, Side};

/// One node's way to the store.
pub(crate) struct NodeStore {
    store: Arc<MemoryProvider>,
    gate: Arc<Gate>,
    cut_off: AtomicBool,
}

impl NodeStore {
    pub(crate) fn new(store: Arc<MemoryProvider>, gate: Arc<Gate>) -> Self {
        Self { store, gate, cut_off: AtomicBool::new(false) }
    }

    fn is_cut_off(&self) -> bool {
        self.cut_off.load(Ordering::SeqCst)
    }

    /// A node that crashed fetches and commits nothing more. Its tasks are aborted soon.
    async fn wait_if_cut_off(&self) {
        if self.is_cut_off() {
            pending().await
        }
    }

    /// A node that crashed releases nothing: its leases expire.
    fn refuse_if_cut_off(&self, operation: &str) -> Result<(), ProviderError> {
        match self.is_cut_off() {
            true => Err(ProviderError::permanent(operation, "the node has crashed")),
            false => Ok(()),
        }
    }

    /// Runs a commit, unless the node crashes before it; after it, the response may be lost.
    async fn commit<T>(
        &self,
        commit: impl Future<Output = Result<T, ProviderError>>,
    ) -> Result<T, ProviderError> {
        self.wait_if_cut_off().await;
        let crash = self.gate.count_commit();
        if crash == Some(Side::Before) {
            self.crash().await;
        }
        let committed = commit.await;
        if crash == Some(Side::After) {
            self.crash().await;
        }
        committed
    }

    async fn crash(&self) {
        self.cut_off.store(true, Ordering::SeqCst);
        self.gate.crash();
        pending().await
    }
}

#[async_trait]
impl Provider for NodeStore {
    fn inner(&self) -> Option<&dyn Provider> {
        Some(self.store.as_ref())
    }

    async fn fetch_orchestration_items(
        &self,
        request: TurnFetch<'_>,
    ) -> Result<Vec<FetchedTurn>, ProviderError> {
        self.wait_if_cut_off().await;
        self.store.fetch_orchestration_items(request).await
    }

    async fn fetch_work_items(
        &self,
        request: WorkFetch<'_>,
    ) -> Result<Vec<FetchedWork>, ProviderError> {
        self.wait_if_cut_off().await;
        self.store.fetch_work_items(request).await
    }

    async fn commit_turn(&self, commit: Arc<TurnCommit>) -> Result<CommittedTurn, ProviderError> {
        self.commit(self.store.commit_turn(commit)).await
    }

    async fn commit_direct_turn(
        &self,
        turn: Arc<DirectTurn>,
    ) -> Result<Option<CommittedTurn>, ProviderError> {
        self.commit(self.store.commit_direct_turn(turn)).await
    }

    async fn ack_work_item(
        &self,
        token: &str,
        completion: Option<WorkItem>,
    ) -> Result<(), ProviderError> {
        if completion.is_some() {
            self.gate.hold_completion().await;
        }
        self.commit(self.store.ack_work_item(token, completion)).await
    }

    async fn abandon_orchestration_item(
        &self,
        lock_token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        self.refuse_if_cut_off("abandon_orchestration_item")?;
        self.store.abandon_orchestration_item(lock_token, delay, ignore_attempt).await
    }

    async fn abandon_work_item(
        &self,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        self.refuse_if_cut_off("abandon_work_item")?;
        self.store.abandon_work_item(token, delay, ignore_attempt).await
    }

    async fn return_unstarted_work_item(
        &self,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        self.refuse_if_cut_off("return_unstarted_work_item")?;
        self.store.return_unstarted_work_item(token, delay, ignore_attempt).await
    }

    async fn announce_worker(
        &self,
        announcement: &WorkerAnnouncement,
    ) -> Result<(), ProviderError> {
        self.gate.announce(announcement);
        self.store.announce_worker(announcement).await
    }

    duroxide_core::forward_provider! { this => this.store;
        fetch_orchestration_item, ack_orchestration_item, read, read_with_execution,
        append_with_execution, enqueue_for_worker, fetch_work_item, renew_work_item_lock,
        renew_session_lock, cleanup_orphaned_sessions, renew_orchestration_item_lock,
        enqueue_for_orchestrator, get_custom_status, get_kv_value, get_kv_all_values,
        get_instance_stats,
    }
}
