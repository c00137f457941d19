//! Load tests for a provider: many instances at the same time, and large payloads.
//!
//! Unlike the validations, a load test measures the throughput of a store under the real runtime,
//! and checks that every started instance finishes.

mod config;
pub mod large_payload;
pub mod parallel_orchestrations;
mod pump;
mod result;
mod table;
mod workload;

pub use config::StressTestConfig;
pub use pump::run_stress_test;
pub use result::StressTestResult;
pub use table::{comparison_table, print_comparison_table};
pub use workload::{create_default_activities, create_default_orchestrations};
