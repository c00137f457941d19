//! Hooks for tests of the runtime.

use std::time::Duration;

use duroxide::runtime::test_hooks::{
    clear_orch_processing_delay, get_orch_processing_delay, set_orch_processing_delay,
};

use crate::is;

#[test]
fn signatures_compile() {
    is::<fn(Duration, Option<&str>)>(set_orch_processing_delay);
    is::<fn(&str) -> Option<Duration>>(get_orch_processing_delay);
    is::<fn()>(clear_orch_processing_delay);
}
