//! Export and import of whole instances.

use duroxide::client::{Client, ExportReport, ExportRequest, ExportSelection, ImportReport};
use duroxide::providers::Provider;
use duroxide::query::Filter;
use duroxide::transfer::{
    ExportedInstance, ImportOptions, ImportedInstance, InstanceDifference, InstanceReader,
    InstanceWriter, ReadInstance, RunningInstances, TransferError, compare_instances,
    export_instance, import_instance,
};

use crate::{is, is_send};

type Done<T> = Result<T, TransferError>;

async fn exports(client: &Client, writer: &mut InstanceWriter<Vec<u8>>) {
    let running = RunningInstances::Refuse;
    is::<Done<ExportedInstance>>(client.export_instance("id", running, writer).await);
    let selection = ExportSelection::Filter(Filter::all());
    let request = ExportRequest::new(selection).with_trees().with_running(RunningInstances::Hold);
    is::<ExportSelection>(ExportRequest::of("id").selection);
    is::<Done<ExportReport>>(is_send(client.export_instances(request, writer, |_| {})).await);
}

async fn imports(client: &Client, lines: &[u8]) -> Done<()> {
    let mut reader = InstanceReader::new("file", lines)?;
    let options = ImportOptions::default().skipping_existing().resuming().verifying();
    is::<Done<ImportReport>>(is_send(client.import_instances(&mut reader, options, |_| {})).await);
    Ok(())
}

async fn on_a_provider(store: &dyn Provider, read: ReadInstance) -> Done<()> {
    let mut writer = InstanceWriter::new("file", Vec::new())?;
    let snapshot = RunningInstances::Snapshot;
    is::<ExportedInstance>(export_instance(store, "id", snapshot, &mut writer).await?);
    is::<ImportedInstance>(import_instance(store, read, ImportOptions::default()).await?);
    is::<Vec<InstanceDifference>>(compare_instances(store, store, "id").await?);
    is::<Vec<u8>>(writer.finish()?);
    Ok(())
}

#[test]
fn the_calls_compile() {
    let _not_called = (exports, imports, on_a_provider);
    assert!(ImportOptions::default().resuming().resume);
}
