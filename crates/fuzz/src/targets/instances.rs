//! Files of whole instances, and their import beside an instance that must stay as it is.

use std::sync::Arc;

use duroxide::provider_validations::reference::MemoryProvider;
use duroxide::providers::Provider;
use duroxide::transfer::{
    ImportOptions, InstanceReader, InstanceWriter, RunningInstances, export_instance,
    import_instance,
};

use super::support::block_on;
use crate::target::{Target, Verdict, require, word};

pub(super) const TARGET: Target = Target { name: "instances", seeds: Vec::new, read };

/// An instance that every import finds in the store.
const NEIGHBOUR: &[u8] = include_bytes!("../../corpus/instances/ended.jsonl");

fn read(input: &[u8]) -> Verdict {
    block_on(async {
        let store: Arc<dyn Provider> = Arc::new(MemoryProvider::default());
        let neighbour = import_all(&*store, NEIGHBOUR).await?;
        require(neighbour == "1 instances", || format!("the neighbour is not there: {neighbour}"))?;
        let before = exported(&*store, "ended").await?;
        let answer = import_all(&*store, input).await?;
        let after = exported(&*store, "ended").await?;
        require(before == after, || "an instance that was there has changed".to_owned())?;
        Ok(answer)
    })?
}

/// Imports the instances of a file; the word for the first mistake, or how many there are.
async fn import_all(store: &dyn Provider, file: &[u8]) -> Verdict {
    let mut reader = match InstanceReader::new("fuzz", file) {
        Ok(reader) => reader,
        Err(error) => return Ok(word(&error)),
    };
    let mut imported = 0;
    loop {
        let instance = match reader.next_instance() {
            Ok(Some(instance)) => instance,
            Ok(None) => return Ok(format!("{imported} instances")),
            Err(error) => return Ok(word(&error)),
        };
        let options = ImportOptions::default().skipping_existing().verifying();
        match import_instance(store, instance, options).await {
            // A changed file may say what a store does not keep, such as the time of a removed
            // key. The import reports that.
            Ok(done) if !done.differences.is_empty() => return Ok("differs".to_owned()),
            Ok(_) => {}
            Err(error) => return Ok(word(&error)),
        }
        imported += 1;
    }
}

async fn exported(store: &dyn Provider, instance: &str) -> Result<Vec<u8>, String> {
    let report = |error: duroxide::transfer::TransferError| error.to_string();
    let mut writer = InstanceWriter::new("memory", Vec::new()).map_err(report)?;
    let running = RunningInstances::Snapshot;
    export_instance(store, instance, running, &mut writer).await.map_err(report)?;
    writer.finish().map_err(report)
}
