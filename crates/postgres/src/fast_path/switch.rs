//! Decides whether a shortcut is tried.

use std::sync::Arc;

use duroxide_core::providers::WorkItem;
use uuid::Uuid;

use crate::commit::encoded::EncodedCommit;
use crate::fast_path::short_commit::ShortCommit;
use crate::fast_path::starts::{Fetching, Late, PendingStart, Starts};
use crate::fetch::turns::{RawTurn, TurnRequest};
use crate::queues::orchestrator_queue::{NewMessage, TurnLease};

/// The shortcuts of a node. Without them, every start becomes a message before a fetch leases it,
/// and `commit_turns` commits every turn.
#[derive(Debug)]
pub(crate) struct FastPath {
    enabled: bool,
    starts: Arc<Starts>,
}

/// What became of a message that may start an instance.
pub(crate) enum Offered {
    /// The commit of the first turn has stored it.
    Committed,
    /// It must be stored as a message, under the lease of its first turn if that already runs.
    ToStore(Option<TurnLease>),
}

impl FastPath {
    pub(crate) fn new(enabled: bool) -> Self {
        Self { enabled, starts: Arc::default() }
    }

    /// Offers a start to the fetches of this node and waits for the commit of its first turn.
    pub(crate) async fn offer(&self, item: &WorkItem, message: &NewMessage, delay: i64) -> Offered {
        let is_start = delay == 0 && matches!(item, WorkItem::StartOrchestration { .. });
        if !self.enabled || !is_start {
            return Offered::ToStore(None);
        }
        self.wait_for_other_starts(&message.instance).await;
        let Some(mut offer) = self.starts.offer(message) else { return Offered::ToStore(None) };
        match offer.committed().await {
            Ok(()) => Offered::Committed,
            Err(Late::Message) => Offered::ToStore(None),
            Err(Late::UnderLease(lease)) => Offered::ToStore(Some(lease)),
        }
    }

    /// Returns when no other start of this instance is under way on this node.
    pub(crate) async fn wait_for_other_starts(&self, instance: &str) {
        self.starts.wait_for_other_starts(instance).await;
    }

    /// A fetch of turns is under way until the guard is dropped; `None` if it can run no turn.
    pub(crate) fn fetching(&self, request: &TurnRequest) -> Option<Fetching<'_>> {
        request.filter.allows_new_instances().then(|| self.starts.fetching())
    }

    /// The start that the commit of this turn must store; `None` if the turn is a stored one.
    pub(crate) async fn pending_start(&self, turn: &EncodedCommit) -> Option<PendingStart> {
        if turn.metadata.name.is_none() {
            // The commit cannot create an instance without its name.
            self.starts.wait_until_stored(turn.token.id).await;
            return None;
        }
        self.starts.join_commit(turn.token.id).await
    }

    /// Whether a first turn is being committed together with its start: no lease exists yet.
    pub(crate) fn is_committing(&self, turn: Uuid) -> bool {
        self.starts.is_committing(turn)
    }

    /// Returns when the lease of a first turn is stored, or will never be.
    pub(crate) async fn wait_for_lease(&self, turn: Uuid) {
        self.starts.wait_until_stored(turn).await;
    }

    /// The commits in a short form, if they have one.
    pub(crate) fn short<'a>(&self, commits: &[&'a EncodedCommit]) -> Option<ShortCommit<'a>> {
        if self.enabled { ShortCommit::of(commits) } else { None }
    }
}

impl Fetching<'_> {
    /// First turns of starts that this node has not stored.
    pub(crate) fn claim(&self, turns_max: usize, request: &TurnRequest) -> Vec<RawTurn> {
        self.starts().claim(turns_max, request.lock_for, &request.filter)
    }
}
