//! State that a whole process shares, and that therefore needs a test binary of its own.

use duroxide_core::runtime::observability::{
    ObservabilityConfig, ObservabilityHandle, init_logging,
};

// One test, because a process gets one subscriber.
#[test]
fn only_init_logging_installs_a_subscriber_and_only_once() {
    let config = ObservabilityConfig::default();
    ObservabilityHandle::init(&config).expect("metrics do not need a subscriber");
    init_logging(&config).expect("metrics have not installed a subscriber");
    assert!(init_logging(&config).is_err(), "a second subscriber is refused");
    ObservabilityHandle::init(&config).expect("metrics accept an installed subscriber");
}
