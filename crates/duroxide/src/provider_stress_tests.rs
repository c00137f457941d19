//! Load tests for a provider.

pub use duroxide_conformance::stress::{
    StressTestConfig, StressTestResult, create_default_activities, create_default_orchestrations,
    large_payload, parallel_orchestrations, print_comparison_table, run_stress_test,
};
