//! Load for a provider: many instances at once, and large payloads.
//!
//! Unlike the validations, this measures: how much a store carries with the real runtime on top,
//! and whether everything that was started also finished.

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
