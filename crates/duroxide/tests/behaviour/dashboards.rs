//! The dashboard and the alert rules name only metrics that the code records.

use std::collections::BTreeSet;

const RECORDED: &str = include_str!("../../../core/src/observability/metrics.rs");
const DASHBOARD: &str = include_str!("../../../../docs/observability/grafana.json");
const ALERTS: &str = include_str!("../../../../docs/observability/alerts.yaml");

/// The metrics that an expression or a source file names.
fn metrics(text: &str) -> BTreeSet<&str> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = text.split(|c| !is_name(c)).filter(|word| word.starts_with("duroxide_"));
    words.map(|word| word.trim_end_matches("_sum").trim_end_matches("_count")).collect()
}

fn assert_recorded(named: &BTreeSet<&str>) {
    let recorded = metrics(RECORDED);
    let unknown: Vec<_> = named.difference(&recorded).collect();
    assert!(unknown.is_empty(), "no code records {unknown:?}");
}

#[test]
fn the_dashboard_shows_recorded_metrics() {
    let dashboard: serde_json::Value = serde_json::from_str(DASHBOARD).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    for panel in panels {
        let targets = panel["targets"].as_array().unwrap();
        for target in targets {
            let named = metrics(target["expr"].as_str().unwrap());
            assert!(!named.is_empty(), "{target} names no metric");
            assert_recorded(&named);
        }
        assert!(!targets.is_empty(), "{panel} shows nothing");
    }
    assert!(panels.len() > 10);
}

/// A sum with a metric that no node has recorded yet is empty, and an alert on it never fires.
#[test]
fn a_sum_of_two_metrics_does_not_need_both() {
    let added = ALERTS.split("expr:").skip(1).filter(|rule| rule.contains("\n          + "));
    let mut sums = 0;
    for rule in added {
        let expression = rule.split("labels:").next().unwrap();
        let terms = expression.matches("sum(").count();
        assert_eq!(expression.matches("or vector(0))").count(), terms, "{expression}");
        sums += terms;
    }
    assert_eq!(sums, 2);
}

#[test]
fn the_alerts_cover_what_needs_an_operator() {
    let named = metrics(ALERTS);
    assert_recorded(&named);
    for metric in [
        "duroxide_stranded_work",
        "duroxide_suspended_instances",
        "duroxide_orchestration_poison_total",
        "duroxide_activity_poison_total",
        "duroxide_orchestrator_queue_depth",
        "duroxide_store_in_trouble",
    ] {
        assert!(named.contains(metric), "no alert about {metric}");
    }
}
