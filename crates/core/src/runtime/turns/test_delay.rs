//! The delay that tests may put before the turns of an instance.

/// Sleeps as long as a test asks for this instance.
#[cfg(feature = "test-hooks")]
pub(crate) async fn delay_for_test(instance: &str) {
    if let Some(delay) = crate::runtime::test_hooks::get_orch_processing_delay(instance) {
        tokio::time::sleep(delay).await;
    }
}

/// Does nothing: the hooks are not compiled in.
#[cfg(not(feature = "test-hooks"))]
pub(crate) async fn delay_for_test(_instance: &str) {}
