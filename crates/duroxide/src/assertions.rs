//! Assertions for the tests of programs.

/// Panics, with a report, unless orchestration code agrees with recorded histories.
///
/// The second argument is a folder of exported histories, or one file. All executions in it are
/// replayed, finished ones too. With `store: …` it is an `Arc` of a provider, whose running
/// executions are replayed; that form awaits, so that it belongs into an async test.
///
/// # Examples
///
/// ```no_run
/// use duroxide::{OrchestrationContext, OrchestrationRegistry};
///
/// fn orchestrations() -> OrchestrationRegistry {
///     OrchestrationRegistry::builder()
///         .register("Order", |ctx: OrchestrationContext, order: String| async move {
///             ctx.schedule_activity("Charge", order).await
///         })
///         .build()
/// }
///
/// #[test]
/// fn running_orders_can_go_on() {
///     duroxide::assert_compatible!(orchestrations(), "tests/histories");
/// }
/// ```
#[macro_export]
macro_rules! assert_compatible {
    ($orchestrations:expr, store: $store:expr $(,)?) => {
        match $crate::check::Checker::new($orchestrations).check_store(&*$store).await {
            Ok(report) => report.assert_compatible(),
            Err(error) => panic!("the running executions cannot be checked: {error}"),
        }
    };
    ($orchestrations:expr, $folder:expr $(,)?) => {
        match $crate::check::Checker::new($orchestrations).with_finished(true).check_folder($folder)
        {
            Ok(report) => {
                // A wrong path must not pass for a good result.
                assert!(report.progress.executions > 0, "no history was found in {:?}", $folder);
                report.assert_compatible();
            }
            Err(error) => panic!("the histories cannot be checked: {error}"),
        }
    };
}
