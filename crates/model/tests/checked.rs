//! The protocol keeps its promises, and each of its rules is needed.

use duroxide_model::{Config, Promise, Rule, Runs, explore_runs};
use stateright::{Checker, HasDiscoveries, Model};

/// Explores a model until a promise is broken or every state was seen, and returns the names of
/// the broken promises.
fn check(name: &str, config: Config, until: HasDiscoveries) -> Vec<&'static str> {
    let checker = config.checker().threads(2).finish_when(until).spawn_bfs().join();
    let broken: Vec<&str> = checker.discoveries().keys().copied().collect();
    println!(
        "{name}: {} states, depth {}, broken: {broken:?}",
        checker.unique_state_count(),
        checker.max_depth()
    );
    broken
}

fn keeps_all(name: &str, config: Config) {
    assert_eq!(check(name, config, HasDiscoveries::Any), Vec::<&str>::new(), "{name}");
}

#[test]
fn leases_keep_every_promise() {
    keeps_all("leases", Config::leases());
}

#[test]
fn a_mixed_cluster_keeps_every_promise() {
    keeps_all("mixed cluster", Config::mixed_cluster());
}

#[test]
fn a_restored_store_keeps_every_promise() {
    keeps_all("restored", Config::restored());
}

#[test]
fn a_reused_id_keeps_every_promise() {
    keeps_all("recreated", Config::recreated());
}

#[test]
fn no_run_goes_on_for_ever() {
    for (name, config) in [("leases", Config::leases()), ("mixed", Config::mixed_cluster())] {
        let runs = explore_runs(&config);
        println!("{name}: {runs:?}");
        let Runs { states, has_cycle, .. } = runs;
        assert!(states > 1000 && !has_cycle, "{name}: {runs:?}");
    }
}

#[test]
fn without_any_rule_its_promise_is_broken() {
    for rule in Rule::ALL {
        let promise = rule.protects();
        let until = HasDiscoveries::AnyOf([promise.name()].into());
        let broken = check(&format!("without {rule:?}"), rule.challenge(), until);
        assert!(broken.contains(&promise.name()), "without {rule:?}: {broken:?}");
    }
}

#[test]
fn either_of_two_rules_protects_the_end_of_a_history() {
    for rule in Rule::ALL.iter().filter(|rule| rule.backed_by().is_some()) {
        let config = Config { without: vec![*rule], ..rule.challenge() };
        keeps_all(&format!("without {rule:?} alone"), config);
    }
}

#[test]
fn every_promise_has_a_rule_that_protects_it() {
    for promise in Promise::ALL {
        assert!(Rule::ALL.iter().any(|rule| rule.protects() == *promise), "{promise:?}");
    }
}
