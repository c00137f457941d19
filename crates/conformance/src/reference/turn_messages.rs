//! Which messages a turn takes: the first of the visible ones, up to a bound.

use duroxide_core::providers::kit::message_variant;

use super::orchestrator_queue;
use super::store::Store;

/// Messages of one turn.
const MESSAGES_MAX: usize = 1024;

/// Bytes of the messages of one turn; a larger message comes alone.
const BYTES_MAX: usize = 1024 * 1024;

/// A start of this size comes alone: it carries unread messages.
const START_ALONE_BYTES: usize = 64 * 1024;

/// The numbers of the messages of the next turn, in order of arrival. The others wait.
pub(crate) fn choose(store: &Store, instance: &str, now: u64) -> Vec<u64> {
    let ready = orchestrator_queue::ready(store, instance, now);
    if store.unbounded_turns {
        return ready;
    }
    let bytes = |number: &u64| store.messages[number].text.len();
    let is = |number: &u64, kind: &str| message_variant(&store.messages[number].text) == kind;
    let mut used = 0;
    let fits = |number: &&u64| {
        used += bytes(number);
        used <= BYTES_MAX || used == bytes(number)
    };
    let mut taken: Vec<u64> = ready.iter().take(MESSAGES_MAX).take_while(fits).copied().collect();
    let is_start = |number: &&u64| is(number, "StartOrchestration") || is(number, "ContinueAsNew");
    if !taken.iter().any(|number| is_start(&number)) {
        // Without a start that waits, the code cannot run. An instance that exists can only be
        // continued.
        let continues = ready.iter().find(|number| is(number, "ContinueAsNew"));
        let start = continues.or_else(|| ready.iter().find(is_start));
        // A cancellation does not wait for the turns of all that came before it.
        let mut behind = ready.iter().skip(taken.len());
        taken.extend(start.or_else(|| behind.find(|number| is(number, "CancelInstance"))));
    }
    let is_large = |number: &&u64| is_start(number) && bytes(number) >= START_ALONE_BYTES;
    match taken.iter().find(is_large) {
        Some(alone) => vec![*alone],
        None => taken,
    }
}
