//! What holds for a whole process, and therefore has a test binary of its own.

use duroxide_core::runtime::observability::{
    ObservabilityConfig, ObservabilityHandle, init_logging,
};

// One test, because a process gets one subscriber.
#[test]
fn a_log_subscriber_is_installed_only_when_asked_for_and_only_once() {
    let config = ObservabilityConfig::default();
    ObservabilityHandle::init(&config).expect("metrics need nothing");
    init_logging(&config).expect("setting up metrics has installed no subscriber");
    assert!(init_logging(&config).is_err(), "a second subscriber is refused");
    ObservabilityHandle::init(&config).expect("a subscriber that is there is tolerated");
}
