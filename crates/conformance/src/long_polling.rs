//! How long a fetch waits without work. The poll timeout runs on the caller's real clock, whatever
//! clock the provider uses for leases.

use std::time::{Duration, Instant};

use duroxide_core::providers::{Provider, TagFilter};

use crate::ProviderFactory;
use crate::limits::{POLL_OVERRUN_MAX, SHORT_POLL_TRIES};
use crate::support::Must;

const LEASE: Duration = Duration::from_secs(30);
const WAIT: Duration = Duration::from_millis(300);

/// Fetches a turn from an empty store and returns how long the call took.
async fn empty_turn_fetch(provider: &dyn Provider, poll_timeout: Duration) -> Duration {
    let asked = Instant::now();
    let fetched = provider.fetch_orchestration_item(LEASE, poll_timeout, None).await;
    assert!(fetched.must("fetching a turn").is_none(), "the store is empty");
    asked.elapsed()
}

/// Fetches an activity from an empty store and returns how long the call took.
async fn empty_work_fetch(provider: &dyn Provider, poll_timeout: Duration) -> Duration {
    let asked = Instant::now();
    let tags = TagFilter::DefaultOnly;
    let fetched = provider.fetch_work_item(LEASE, poll_timeout, None, &tags).await;
    assert!(fetched.must("fetching an activity").is_none(), "the store is empty");
    asked.elapsed()
}

#[track_caller]
fn assert_at_once(fastest: Duration, threshold: Duration) {
    assert!(fastest <= threshold, "a fetch that does not wait took {fastest:?}");
}

#[track_caller]
fn assert_waited(took: Duration) {
    // Timers may fire slightly early when measured by another clock.
    assert!(took >= WAIT * 9 / 10, "the fetch returned after {took:?} instead of {WAIT:?}");
    assert!(took <= WAIT + POLL_OVERRUN_MAX, "the fetch waited {took:?} instead of {WAIT:?}");
}

/// With a poll timeout of zero a fetch of a turn returns at once.
pub async fn test_short_poll_returns_immediately(provider: &dyn Provider, threshold: Duration) {
    let mut fastest = Duration::MAX;
    // A busy machine may delay any single call.
    for _ in 0..SHORT_POLL_TRIES {
        fastest = fastest.min(empty_turn_fetch(provider, Duration::ZERO).await);
    }
    assert_at_once(fastest, threshold);
}

/// With a poll timeout of zero a fetch of an activity returns at once.
pub async fn test_short_poll_work_item_returns_immediately(
    provider: &dyn Provider,
    threshold: Duration,
) {
    let mut fastest = Duration::MAX;
    for _ in 0..SHORT_POLL_TRIES {
        fastest = fastest.min(empty_work_fetch(provider, Duration::ZERO).await);
    }
    assert_at_once(fastest, threshold);
}

/// A fetch of a turn waits for its poll timeout.
pub async fn test_long_poll_waits_for_timeout(provider: &dyn Provider) {
    assert_waited(empty_turn_fetch(provider, WAIT).await);
}

/// A fetch of an activity waits for its poll timeout.
pub async fn test_long_poll_work_item_waits_for_timeout(provider: &dyn Provider) {
    assert_waited(empty_work_fetch(provider, WAIT).await);
}

/// No fetch takes much longer than its poll timeout, whether it waits or not.
pub async fn test_fetch_respects_timeout_upper_bound(provider: &dyn Provider) {
    for took in [empty_turn_fetch(provider, WAIT).await, empty_work_fetch(provider, WAIT).await] {
        assert!(
            took <= WAIT + POLL_OVERRUN_MAX,
            "the fetch took {took:?} with a poll timeout of {WAIT:?}"
        );
    }
}

pub(crate) async fn short_poll(factory: &dyn ProviderFactory) {
    let provider = factory.create_provider().await;
    test_short_poll_returns_immediately(&*provider, factory.short_poll_threshold()).await;
}

pub(crate) async fn short_poll_work_item(factory: &dyn ProviderFactory) {
    let provider = factory.create_provider().await;
    let threshold = factory.short_poll_threshold();
    test_short_poll_work_item_returns_immediately(&*provider, threshold).await;
}

pub(crate) async fn long_poll(factory: &dyn ProviderFactory) {
    test_long_poll_waits_for_timeout(&*factory.create_provider().await).await;
}

pub(crate) async fn long_poll_work_item(factory: &dyn ProviderFactory) {
    test_long_poll_work_item_waits_for_timeout(&*factory.create_provider().await).await;
}

pub(crate) async fn upper_bound(factory: &dyn ProviderFactory) {
    test_fetch_respects_timeout_upper_bound(&*factory.create_provider().await).await;
}

/// The validations of this category.
#[doc(hidden)]
#[macro_export]
macro_rules! __long_polling {
    ($callback:ident $context:tt) => {
        $crate::$callback! { $context long_polling
            test_short_poll_returns_immediately via short_poll;
            test_short_poll_work_item_returns_immediately via short_poll_work_item;
            test_long_poll_waits_for_timeout needs(waiting) via long_poll;
            test_long_poll_work_item_waits_for_timeout needs(waiting) via long_poll_work_item;
            test_fetch_respects_timeout_upper_bound via upper_bound;
        }
    };
}
