//! Executions that stay in memory between turns, so that the next turn needs no history and no
//! replay.
//!
//! The next fetch can see a commit before the store has responded to the committer. The cache
//! therefore knows what a pending commit will have stored. A fetch that arrives in that time waits
//! for the response, and uses the execution only if the commit succeeded.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lru::LruCache;
use tokio_util::sync::CancellationToken;

use crate::engine::Execution;
use crate::limits::WARM_DELIVERED_SHARE;
use crate::providers::{HistoryMark, KnownHistory};
use crate::runtime::WarmCacheOptions;
use crate::runtime::start_facts::{KnownStarts, StartFacts};

/// An execution in memory.
pub(crate) struct WarmExecution {
    pub(crate) execution: Execution,
    pub(crate) facts: Arc<StartFacts>,
    /// The last stored event of it, and the incarnation of the instance.
    pub(crate) mark: HistoryMark,
    /// Messages wait in the queue, so the next turn must be a fetched one.
    pub(crate) is_behind: bool,
}

/// Drops the least recently used executions when a bound is reached.
pub(crate) struct WarmCache {
    options: WarmCacheOptions,
    kept: Mutex<Kept>,
}

struct Kept {
    by_instance: LruCache<String, (WarmExecution, usize)>,
    bytes: usize,
    /// Pending commits by instance.
    committing: HashMap<String, PendingCommit>,
    /// The number of the last commit.
    commits: u64,
}

struct PendingCommit {
    mark: HistoryMark,
    facts: Arc<StartFacts>,
    settled: CancellationToken,
    number: u64,
}

impl Kept {
    fn pop(&mut self, instance: &str) -> Option<WarmExecution> {
        let (warm, bytes) = self.by_instance.pop(instance)?;
        self.bytes -= bytes;
        Some(warm)
    }
}

/// Marks a commit as pending until it is dropped, whether the commit succeeds or fails.
pub(crate) struct CommitGuard {
    cache: Arc<WarmCache>,
    instance: String,
    settled: CancellationToken,
    number: u64,
}

impl Drop for CommitGuard {
    fn drop(&mut self) {
        let mut kept = self.cache.kept();
        // If our lease was lost, the entry may belong to a later turn of the instance.
        if kept.committing.get(&self.instance).is_some_and(|other| other.number == self.number) {
            kept.committing.remove(&self.instance);
        }
        self.settled.cancel();
    }
}

impl WarmCache {
    pub(crate) fn new(options: WarmCacheOptions) -> Self {
        let kept = Kept {
            by_instance: LruCache::unbounded(),
            bytes: 0,
            committing: HashMap::new(),
            commits: 0,
        };
        Self { options, kept: Mutex::new(kept) }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Announces what a commit will have stored. The caller keeps the guard until it has put the
    /// execution back.
    pub(crate) fn commit_started(
        self: &Arc<Self>,
        instance: String,
        mark: HistoryMark,
        facts: Arc<StartFacts>,
    ) -> CommitGuard {
        let settled = CancellationToken::new();
        let mut kept = self.kept();
        kept.commits += 1;
        let number = kept.commits;
        let pending = PendingCommit { mark, facts, settled: settled.clone(), number };
        kept.committing.insert(instance.clone(), pending);
        drop(kept);
        CommitGuard { cache: Arc::clone(self), instance, settled, number }
    }

    /// Removes an execution, after its pending commit, if there is one, has succeeded or failed.
    pub(crate) async fn take_settled(&self, instance: &str) -> Option<WarmExecution> {
        let pending = self.kept().committing.get(instance).map(|commit| commit.settled.clone());
        if let Some(settled) = pending {
            // Bounded: the committer stops retrying when its lease expires.
            settled.cancelled().await;
        }
        self.take(instance)
    }

    /// Removes an execution for a direct turn, if it can take one: it is in memory, up to date with
    /// the queue, and has no pending commit.
    pub(crate) fn take_idle(&self, instance: &str, execution_id: u64) -> Option<WarmExecution> {
        let mut kept = self.kept();
        let fits = |warm: &WarmExecution| !warm.is_behind && warm.mark.execution_id == execution_id;
        if kept.committing.contains_key(instance)
            || !kept.by_instance.peek(instance).is_some_and(|(warm, _)| fits(warm))
        {
            return None;
        }
        kept.pop(instance)
    }

    /// Whether an execution in memory is up to date with the queue, so that it can take a direct
    /// turn.
    pub(crate) fn is_ready(&self, instance: &str) -> bool {
        self.kept().by_instance.peek(instance).is_some_and(|(warm, _)| !warm.is_behind)
    }

    /// Removes an execution, whatever its mark.
    fn take(&self, instance: &str) -> Option<WarmExecution> {
        self.kept().pop(instance)
    }

    /// Adds an execution, and drops others that no longer fit.
    pub(crate) fn put(&self, instance: String, warm: WarmExecution) {
        if !self.options.enabled {
            return;
        }
        let bytes = self.bytes_of(&instance, &warm.execution);
        let mut evicted = Vec::new();
        {
            let mut kept = self.kept();
            kept.bytes += bytes;
            if let Some((_, (old, old_bytes))) = kept.by_instance.push(instance, (warm, bytes)) {
                kept.bytes -= old_bytes;
                evicted.push(old);
            }
            while kept.by_instance.len() > self.options.instances_max
                || kept.bytes > self.options.bytes_max
            {
                let Some((_, (old, old_bytes))) = kept.by_instance.pop_lru() else { break };
                kept.bytes -= old_bytes;
                evicted.push(old);
            }
        }
        // Outside the lock: dropping runs destructors of user code.
        drop(evicted);
    }

    /// What an execution counts for. Which of the delivered values the code still holds is unknown,
    /// so all of them count, up to a share of the bound.
    fn bytes_of(&self, instance: &str, execution: &Execution) -> usize {
        let share = self.options.bytes_max / WARM_DELIVERED_SHARE;
        execution.bytes() + execution.delivered_bytes().min(share) + instance.len()
    }

    /// Drops everything.
    pub(crate) fn clear(&self) {
        let all = {
            let mut kept = self.kept();
            kept.bytes = 0;
            std::mem::replace(&mut kept.by_instance, LruCache::unbounded())
        };
        drop(all);
    }
}

impl KnownHistory for WarmCache {
    fn mark(&self, instance: &str) -> Option<HistoryMark> {
        let kept = self.kept();
        let pending = kept.committing.get(instance).map(|commit| commit.mark);
        pending.or_else(|| kept.by_instance.peek(instance).map(|(warm, _)| warm.mark))
    }
}

impl KnownStarts for WarmCache {
    fn facts(&self, instance: &str) -> Option<Arc<StartFacts>> {
        let kept = self.kept();
        let pending = kept.committing.get(instance).map(|commit| Arc::clone(&commit.facts));
        pending.or_else(|| kept.by_instance.peek(instance).map(|(warm, _)| Arc::clone(&warm.facts)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::{FnOrchestration, OrchestrationContext};
    use crate::engine::Setup;
    use crate::model::{Event, EventKind, WorkItem};

    fn mark(event_id: u64) -> HistoryMark {
        HistoryMark::new(7).with_execution_id(1).with_event_id(event_id)
    }

    fn facts() -> Arc<StartFacts> {
        Arc::new(StartFacts {
            name: "Order".to_owned(),
            version: "1.0.0".to_owned(),
            parent: None,
            pin: String::new(),
            started_at_ms: 0,
        })
    }

    /// An execution that has received an activity's result of this size and waits.
    fn waiting(result_bytes: usize) -> WarmExecution {
        let code = |ctx: OrchestrationContext, _: String| async move {
            let result = ctx.schedule_activity("Large", "").await?;
            ctx.schedule_wait("Go").await;
            Ok(result)
        };
        let setup = Setup {
            handler: Arc::new(FnOrchestration(code)),
            kv_snapshot: HashMap::new(),
            parent: None,
            ignored_inputs: Arc::default(),
            on_foreign_wake: None,
        };
        let kind = EventKind::OrchestrationStarted {
            name: "Order".to_owned(),
            version: "1.0.0".to_owned(),
            input: String::new(),
            parent_instance: None,
            parent_id: None,
            parent_execution_id: None,
            carry_forward_events: None,
            initial_custom_status: None,
        };
        let start = Event::with_event_id(1, "i", 1, None, kind);
        let mut execution = Execution::begin(setup, start).unwrap();
        execution.advance(Vec::new(), 0);
        let completed = WorkItem::ActivityCompleted {
            instance: "i".to_owned(),
            execution_id: 1,
            id: 2,
            result: "x".repeat(result_bytes),
        };
        execution.advance(vec![completed], 0);
        WarmExecution { execution, facts: facts(), mark: mark(4), is_behind: false }
    }

    /// 1,000 instances that held a result of 1 MB each took 1.1 GB, with a bound of 64 MB.
    #[test]
    fn results_that_the_code_has_received_count() {
        const RESULT: usize = 100_000;
        const INSTANCES: usize = 20;
        let kept = |result_bytes| {
            let bytes_max = 5 * RESULT;
            let options = WarmCacheOptions { bytes_max, ..WarmCacheOptions::default() };
            let cache = WarmCache::new(options);
            for number in 0..INSTANCES {
                cache.put(number.to_string(), waiting(result_bytes));
            }
            (0..INSTANCES).filter(|number| cache.mark(&number.to_string()).is_some()).count()
        };
        assert_eq!(kept(10), INSTANCES);
        assert!((1..=5).contains(&kept(RESULT)), "{} are kept", kept(RESULT));
    }

    #[tokio::test]
    async fn a_pending_commit_is_known_until_it_is_settled() {
        let cache = Arc::new(WarmCache::new(WarmCacheOptions::default()));
        let committing = cache.commit_started("i".to_owned(), mark(3), facts());
        assert_eq!(cache.mark("i"), Some(mark(3)));
        assert!(cache.facts("i").is_some());
        drop(committing);
        assert_eq!(cache.mark("i"), None);
        assert!(cache.facts("i").is_none());
    }

    #[tokio::test]
    async fn removing_an_execution_waits_for_its_pending_commit() {
        let cache = Arc::new(WarmCache::new(WarmCacheOptions::default()));
        let committing = cache.commit_started("i".to_owned(), mark(3), facts());
        let taking = tokio::spawn({
            let cache = Arc::clone(&cache);
            async move { cache.take_settled("i").await.is_none() }
        });
        tokio::task::yield_now().await;
        assert!(!taking.is_finished());
        // A failed commit puts nothing back.
        drop(committing);
        assert!(taking.await.unwrap());
    }

    #[tokio::test]
    async fn an_older_commit_does_not_settle_a_newer_one() {
        let cache = Arc::new(WarmCache::new(WarmCacheOptions::default()));
        let older = cache.commit_started("i".to_owned(), mark(3), facts());
        let newer = cache.commit_started("i".to_owned(), mark(5), facts());
        drop(older);
        assert_eq!(cache.mark("i"), Some(mark(5)));
        drop(newer);
        assert_eq!(cache.mark("i"), None);
    }
}
