//! Results side by side.

use std::fmt::Write;

use super::StressTestResult;

/// Prints results side by side: provider, configuration, result.
pub fn print_comparison_table(results: &[(String, String, StressTestResult)]) {
    print!("{}", comparison_table(results));
}

/// The text of [`print_comparison_table`].
pub fn comparison_table(results: &[(String, String, StressTestResult)]) -> String {
    let mut table = format!(
        "{:<24} {:<20} {:>8} {:>8} {:>6} {:>9} {:>10} {:>10} {:>11}\n",
        "provider",
        "configuration",
        "started",
        "done",
        "failed",
        "success",
        "orch/s",
        "act/s",
        "latency ms"
    );
    for (provider, configuration, result) in results {
        let row = writeln!(
            table,
            "{provider:<24} {configuration:<20} {:>8} {:>8} {:>6} {:>8.2}% {:>10.1} {:>10.1} \
             {:>11.2}",
            result.launched,
            result.completed,
            result.failed,
            result.success_rate(),
            result.orch_throughput,
            result.activity_throughput,
            result.avg_latency_ms
        );
        debug_assert!(row.is_ok(), "a string takes any text");
    }
    table
}
