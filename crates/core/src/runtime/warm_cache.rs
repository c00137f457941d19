//! Executions kept between turns, so that the next turn needs no history and no replay.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lru::LruCache;

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
}

/// Least recently used executions go first when a bound is reached.
pub(crate) struct WarmCache {
    options: WarmCacheOptions,
    kept: Mutex<Kept>,
}

struct Kept {
    by_instance: LruCache<String, (Warm, usize)>,
    bytes: usize,
}

impl WarmCache {
    pub(crate) fn new(options: WarmCacheOptions) -> Self {
        Self { options, kept: Mutex::new(Kept { by_instance: LruCache::unbounded(), bytes: 0 }) }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes an execution out, whatever its mark.
    pub(crate) fn take(&self, instance: &str) -> Option<Warm> {
        let mut kept = self.kept();
        let (warm, bytes) = kept.by_instance.pop(instance)?;
        kept.bytes -= bytes;
        Some(warm)
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
        self.kept().by_instance.peek(instance).map(|(warm, _)| Arc::clone(&warm.facts))
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
        self.kept().by_instance.peek(instance).map(|(warm, _)| warm.mark)
    }
}
