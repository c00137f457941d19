//! A deployment that adds a step in the middle without a version, and the one that repairs it.

use std::sync::Arc;
use std::time::Duration;

use duroxide::RuntimeOptions;
use duroxide::check::{Checker, Verdict};
use duroxide::providers::SuspensionOrigin;
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::runtime::{OrchestrationRegistry, Runtime, test_hooks};

use crate::cluster::Cluster;
use crate::code;
use crate::deployment::Deployment;
use crate::journal::{POLL_INTERVAL, TIMEOUT};
use crate::node_process::Node;

on_every_store!(a_bad_deployment_stops_instances_and_the_fixed_one_completes_them,);

const WAITING: [&str; 6] = ["parcel-1", "parcel-2", "parcel-3", "parcel-4", "parcel-5", "parcel-6"];

async fn a_bad_deployment_stops_instances_and_the_fixed_one_completes_them(cluster: Cluster) {
    test_hooks::act_as_version(Deployment::New.build());
    let alarm = alarm(&cluster).await;
    let mut nodes = cluster.three_nodes(Deployment::New).await;
    for parcel in WAITING {
        start(&cluster, parcel).await;
    }

    the_checker_names_the_line(&cluster).await;
    nodes = replaced(&cluster, nodes, Deployment::Bad).await;
    // New instances run: nothing in their histories disagrees.
    start(&cluster, "meanwhile").await;
    approve(&cluster, "meanwhile").await;
    assert_eq!(cluster.output("meanwhile").await, "meanwhile");
    for parcel in WAITING {
        approve(&cluster, parcel).await;
    }
    until_suspended(&cluster, &WAITING).await;
    until_alarm(&alarm, WAITING.len()).await;
    let failed = cluster.client.list_instances_by_status("Failed").await.unwrap();
    assert!(failed.is_empty(), "{failed:?}");

    let fixed = Checker::new(Deployment::Fixed.orchestrations());
    fixed.check_store(cluster.provider.as_ref()).await.unwrap().assert_compatible();
    nodes = replaced(&cluster, nodes, Deployment::Fixed).await;
    for parcel in WAITING {
        assert_eq!(cluster.output(parcel).await, parcel);
    }
    start(&cluster, "afterwards").await;
    approve(&cluster, "afterwards").await;
    assert_eq!(cluster.output("afterwards").await, "afterwards");
    until_alarm(&alarm, 0).await;

    let mut effects: Vec<(&str, &str)> = Vec::new();
    for parcel in WAITING {
        effects.extend(["Charge", "Ship"].map(|name| (name, parcel)));
    }
    for parcel in ["meanwhile", "afterwards"] {
        effects.extend(["Charge", "Insure", "Ship"].map(|name| (name, parcel)));
    }
    let once = |(name, parcel): (&str, &str)| ((name.to_owned(), parcel.to_owned()), 1);
    assert_eq!(cluster.effects(), effects.into_iter().map(once).collect());
    for node in nodes {
        node.stop().await;
    }
    alarm.shutdown(None).await;
    cluster.assert_all_is_done().await;
}

async fn start(cluster: &Cluster, parcel: &str) {
    cluster.start(parcel, "Parcel", parcel).await;
    cluster.until_kind(parcel, "ExternalSubscribed").await;
}

async fn approve(cluster: &Cluster, parcel: &str) {
    cluster.client.raise_event(parcel, "Approval", "yes").await.unwrap();
}

/// Replaces one node after the other.
async fn replaced(cluster: &Cluster, nodes: [Node; 3], by: Deployment) -> [Node; 3] {
    let mut replaced = Vec::new();
    for node in nodes {
        node.stop().await;
        replaced.push(cluster.node(by).await);
    }
    let Ok(replaced) = replaced.try_into() else { panic!("there are three") };
    replaced
}

/// Before the deployment, the checker says what is wrong, and where.
async fn the_checker_names_the_line(cluster: &Cluster) {
    let checker = Checker::new(Deployment::Bad.orchestrations());
    let report = checker.check_store(cluster.provider.as_ref()).await.unwrap();
    assert!(report.breaks_executions(), "{report}");
    assert_eq!(report.problems.len(), WAITING.len(), "{report}");
    for problem in &report.problems {
        let Verdict::Differs(difference) = &problem.verdict else { panic!("{problem}") };
        let site = difference.call_site.expect("the line of the call");
        assert!(site.file().ends_with("upgrades/code.rs"), "{site}");
        assert_eq!(site.line(), code::line_of_the_added_step());
        assert!(report.to_string().contains(&site.to_string()), "{report}");
    }
}

async fn until_suspended(cluster: &Cluster, wanted: &[&str]) {
    let suspended = async {
        loop {
            let listed = cluster.client.list_suspended_instances(None, 100).await.unwrap();
            if listed.iter().map(|it| it.instance_id.as_str()).eq(wanted.iter().copied()) {
                return listed;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    };
    let listed = tokio::time::timeout(TIMEOUT, suspended).await.expect("all are suspended");
    for instance in listed {
        assert_eq!(instance.orchestration_name, "Parcel");
        assert_eq!(instance.suspension.origin, SuspensionOrigin::Replay);
        let reason = instance.suspension.reason;
        assert!(reason.contains("Insure"), "{reason}");
    }
}

/// A node of a monitoring program: it runs nothing and has the gauges.
async fn alarm(cluster: &Cluster) -> Arc<Runtime> {
    let mut options =
        RuntimeOptions::default().with_orchestration_concurrency(0).with_worker_concurrency(0);
    options.observability.gauge_poll_interval = Duration::ZERO;
    let store = Arc::clone(&cluster.provider);
    let code = (ActivityRegistry::builder().build(), OrchestrationRegistry::builder().build());
    Runtime::start_with_options(store, code.0, code.1, options).await
}

async fn until_alarm(alarm: &Runtime, suspended: usize) {
    let gauge = alarm.observability_handle().unwrap().metrics_provider();
    let shows = async {
        while gauge.get_suspended_instances() != suspended as u64 {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    };
    tokio::time::timeout(TIMEOUT, shows).await.expect("the gauge shows it");
}
