//! The whole conformance suite on a throw-away server. Leases end by a moved clock.

mod factory;

use crate::factory::SchemaFactory;

duroxide_conformance::provider_conformance_tests!(SchemaFactory::new());

#[tokio::test]
async fn the_whole_suite_in_one_go_skips_nothing() {
    let report = duroxide_conformance::run_all_validations(&SchemaFactory::new()).await;
    report.assert_passed();
    let passed = |outcome: &duroxide_conformance::Outcome| {
        *outcome == duroxide_conformance::Outcome::Passed
    };
    assert!(report.outcomes.iter().all(|(_, outcome)| passed(outcome)));
}
