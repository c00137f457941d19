//! A node counts before a client of its process can see the end of an instance.

use std::sync::Arc;

use duroxide::RuntimeOptions;
use duroxide::runtime::Runtime;

use crate::cluster::Cluster;
use crate::code::{activities, orchestrations};

on_every_store!(counters_are_never_behind_a_wait,);

const INSTANCES: u64 = 100;

/// The counters used to be written after the waiting client was woken, so that a program that read
/// them after its wait found the last instance missing.
async fn counters_are_never_behind_a_wait(cluster: Cluster) {
    for (warm, direct) in [(true, "direct"), (false, "queued")] {
        let mut options = RuntimeOptions::default();
        options.warm_cache.enabled = warm;
        let (store, journal, gates) =
            (Arc::clone(&cluster.provider), &cluster.journal, cluster.gates());
        let code = (activities(journal, &gates), orchestrations(journal, &gates));
        let node = Runtime::start_with_options(store, code.0, code.1, options).await;
        for number in 1..=INSTANCES {
            let name = format!("{direct}-{number}");
            cluster.start(&name, "Quick", "").await;
            cluster.output(&name).await;
            let counts = node.metrics_snapshot().unwrap();
            assert_eq!(counts.orch_starts, number, "starts of {direct} turns");
            assert_eq!(counts.orch_completions, number, "ends of {direct} turns");
            assert_eq!(counts.activity_success, number, "activities before {direct} turns");
        }
        node.shutdown(None).await;
    }
}
