//! Load tests for a provider, by part.

pub use duroxide_conformance::stress::{large_payload, parallel_orchestrations};

/// Configuration, result, load generator and default workload.
pub mod core {
    pub use duroxide_conformance::stress::{
        StressTestConfig, StressTestResult, create_default_activities,
        create_default_orchestrations, print_comparison_table, run_stress_test,
    };
}
