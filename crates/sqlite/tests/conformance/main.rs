//! The whole conformance suite, on a file and in memory. The tests move the clock to expire leases.

mod factory;

use duroxide_conformance::Outcome;

mod file {
    use crate::factory::FileFactory;

    duroxide_conformance::provider_conformance_tests!(FileFactory::new());
}

mod memory {
    use crate::factory::MemoryFactory;

    // Only its one connection can reach a database in memory.
    duroxide_conformance::provider_conformance_tests!(
        MemoryFactory::new(),
        without = [corruption, attempt_counts]
    );
}

#[tokio::test]
async fn the_whole_suite_passes_and_lists_what_it_skips() {
    let report = duroxide_conformance::run_all_validations(&factory::MemoryFactory::new()).await;
    report.assert_passed();
    let skipped = report.outcomes.iter().filter(|(_, outcome)| *outcome != Outcome::Passed);
    assert!(skipped.count() > 0, "a test cannot open a database in memory a second time");
}
