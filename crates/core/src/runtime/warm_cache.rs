//! Executions kept between turns, so that the next turn needs no history and no replay.
//!
//! A turn's commit can be seen by the next fetch before its answer has come back here. What that
//! commit will have stored is therefore known while it is on the way; whoever fetches the next turn
//! in that time waits for the answer, and only relies on the execution if the commit succeeded.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lru::LruCache;
use tokio_util::sync::CancellationToken;

use super::options::WarmCacheOptions;
use super::start_facts::StartFacts;
use crate::engine::Execution;
use crate::providers::{HistoryMark, KnownHistory};

/// A kept execution.
pub(crate) struct Warm {
    pub(crate) execution: Execution,
    pub(crate) facts: Arc<StartFacts>,
    /// What is stored of it, and of which incarnation of the instance.
    pub(crate) mark: HistoryMark,
    /// Messages wait in the queue: the next turn is a fetched one.
    pub(crate) is_behind: bool,
}

/// Least recently used executions go first when a bound is reached.
pub(crate) struct WarmCache {
    options: WarmCacheOptions,
    kept: Mutex<Kept>,
}

struct Kept {
    by_instance: LruCache<String, (Warm, usize)>,
    bytes: usize,
    /// At most one for each turn that is being committed.
    committing: HashMap<String, OnTheWay>,
    /// Commits so far, to tell them apart.
    commits: u64,
}

struct OnTheWay {
    mark: HistoryMark,
    facts: Arc<StartFacts>,
    settled: CancellationToken,
    number: u64,
}

impl Kept {
    fn pop(&mut self, instance: &str) -> Option<Warm> {
        let (warm, bytes) = self.by_instance.pop(instance)?;
        self.bytes -= bytes;
        Some(warm)
    }
}

/// A commit on its way. Dropping it says that the answer is here, good or bad.
pub(crate) struct Committing {
    cache: Arc<WarmCache>,
    instance: String,
    settled: CancellationToken,
    number: u64,
}

impl Drop for Committing {
    fn drop(&mut self) {
        let mut kept = self.cache.kept();
        // A later turn of the instance may have begun if our lease was lost.
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

    /// Says what a commit will have stored. Keep the answer until the execution is put back.
    pub(crate) fn commit_begins(
        self: &Arc<Self>,
        instance: String,
        mark: HistoryMark,
        facts: Arc<StartFacts>,
    ) -> Committing {
        let settled = CancellationToken::new();
        let mut kept = self.kept();
        kept.commits += 1;
        let number = kept.commits;
        let on_the_way = OnTheWay { mark, facts, settled: settled.clone(), number };
        kept.committing.insert(instance.clone(), on_the_way);
        drop(kept);
        Committing { cache: Arc::clone(self), instance, settled, number }
    }

    /// Takes an execution out once its commit, if one is on the way, has been answered.
    pub(crate) async fn take_settled(&self, instance: &str) -> Option<Warm> {
        let on_the_way = self.kept().committing.get(instance).map(|commit| commit.settled.clone());
        if let Some(settled) = on_the_way {
            // Bounded: a commit is given up when its lease has run out.
            settled.cancelled().await;
        }
        self.take(instance)
    }

    /// Takes an execution out, if it is kept and none of its commits is on the way.
    pub(crate) fn take_quiet(&self, instance: &str, execution_id: u64) -> Option<Warm> {
        let mut kept = self.kept();
        let fits = |warm: &Warm| !warm.is_behind && warm.mark.execution_id == execution_id;
        if kept.committing.contains_key(instance)
            || !kept.by_instance.peek(instance).is_some_and(|(warm, _)| fits(warm))
        {
            return None;
        }
        kept.pop(instance)
    }

    /// Whether an execution is kept that can take a direct turn.
    pub(crate) fn is_ready(&self, instance: &str) -> bool {
        self.kept().by_instance.peek(instance).is_some_and(|(warm, _)| !warm.is_behind)
    }

    /// Takes an execution out, whatever its mark.
    fn take(&self, instance: &str) -> Option<Warm> {
        self.kept().pop(instance)
    }

    /// Keeps an execution, and drops others that no longer fit.
    pub(crate) fn put(&self, instance: String, warm: Warm) {
        if !self.options.enabled {
            return;
        }
        let bytes = warm.execution.bytes() + instance.len();
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

    /// The start of a kept execution.
    pub(crate) fn facts(&self, instance: &str) -> Option<Arc<StartFacts>> {
        let kept = self.kept();
        let on_the_way = kept.committing.get(instance).map(|commit| Arc::clone(&commit.facts));
        on_the_way
            .or_else(|| kept.by_instance.peek(instance).map(|(warm, _)| Arc::clone(&warm.facts)))
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
        let on_the_way = kept.committing.get(instance).map(|commit| commit.mark);
        on_the_way.or_else(|| kept.by_instance.peek(instance).map(|(warm, _)| warm.mark))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(event_id: u64) -> HistoryMark {
        HistoryMark { incarnation: 7, execution_id: 1, event_id }
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

    #[tokio::test]
    async fn what_a_commit_stores_is_known_until_it_is_answered() {
        let cache = Arc::new(WarmCache::new(WarmCacheOptions::default()));
        let committing = cache.commit_begins("i".to_owned(), mark(3), facts());
        assert_eq!(cache.mark("i"), Some(mark(3)));
        assert!(cache.facts("i").is_some());
        drop(committing);
        assert_eq!(cache.mark("i"), None);
        assert!(cache.facts("i").is_none());
    }

    #[tokio::test]
    async fn taking_an_execution_waits_for_the_answer_of_its_commit() {
        let cache = Arc::new(WarmCache::new(WarmCacheOptions::default()));
        let committing = cache.commit_begins("i".to_owned(), mark(3), facts());
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
    async fn the_answer_of_an_older_commit_does_not_settle_a_newer_one() {
        let cache = Arc::new(WarmCache::new(WarmCacheOptions::default()));
        let older = cache.commit_begins("i".to_owned(), mark(3), facts());
        let newer = cache.commit_begins("i".to_owned(), mark(5), facts());
        drop(older);
        assert_eq!(cache.mark("i"), Some(mark(5)));
        drop(newer);
        assert_eq!(cache.mark("i"), None);
    }
}
