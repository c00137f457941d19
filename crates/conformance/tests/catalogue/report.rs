//! A run of the whole suite reports every validation.

use std::sync::Arc;

use async_trait::async_trait;
use duroxide_conformance::{Ability, Outcome, ProviderFactory, all, run_all_validations};
use duroxide_core::providers::{Provider, ProviderCapability};

const WAITING: Ability = Ability::Provider(ProviderCapability::Waiting);

/// A backend that cannot be opened.
struct Broken;

#[async_trait]
impl ProviderFactory for Broken {
    async fn create_provider(&self) -> Arc<dyn Provider> {
        panic!("the disk is on fire")
    }

    fn can(&self, ability: Ability) -> bool {
        ability != WAITING
    }
}

#[tokio::test]
async fn every_failure_is_reported_by_name_and_every_gap_as_skipped() {
    let report = run_all_validations(&Broken).await;
    assert_eq!(report.outcomes.len(), all().len());
    for (validation, outcome) in &report.outcomes {
        let expected = if validation.needs.contains(&WAITING) {
            Outcome::Skipped(WAITING)
        } else {
            Outcome::Failed("the disk is on fire".to_owned())
        };
        assert_eq!(outcome, &expected, "{}", validation.name);
    }
    assert!(!report.passed());
    let table = report.to_string();
    assert!(table.contains("atomicity::test_concurrent_ack_prevention"), "{table}");
    assert!(table.contains("needs waiting"), "{table}");
    assert!(table.contains("0 passed"), "{table}");
}

#[tokio::test]
#[should_panic(expected = "the provider breaks the contract")]
async fn a_failure_fails_the_test() {
    run_all_validations(&Broken).await.assert_passed();
}
