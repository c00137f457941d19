//! Imports instances into the client's store.

use std::io::BufRead;

use super::request::ImportReport;
use crate::client::Client;
use crate::transfer::{
    ImportOptions, ImportedInstance, InstanceReader, TransferError, import_instance,
};

impl Client {
    /// Stores the instances of a file, each in one transaction, and calls `observe` for each.
    ///
    /// Nodes take on an instance as soon as it is stored. After an error or a crash, all instances
    /// before are stored and nothing of the others: run it again with
    /// [`skip_existing`](ImportOptions::skip_existing).
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use duroxide::transfer::{ImportOptions, InstanceReader, TransferError};
    ///
    /// # use duroxide::Client;
    /// # async fn example(client: &Client, lines: &[u8]) -> Result<(), TransferError> {
    /// let mut reader = InstanceReader::new("orders.jsonl", lines)?;
    /// let options = ImportOptions::default().skipping_existing().verifying();
    /// let report = client.import_instances(&mut reader, options, |_| {}).await?;
    /// println!("{} imported, {} different", report.imported, report.different);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// A line is damaged, an instance exists or was read while it ran; the store or the input
    /// failed, or the store cannot import instances.
    pub async fn import_instances<R: BufRead + Send>(
        &self,
        reader: &mut InstanceReader<R>,
        options: ImportOptions,
        mut observe: impl FnMut(&ImportedInstance) + Send,
    ) -> Result<ImportReport, TransferError> {
        let mut report = ImportReport::default();
        while let Some(instance) = reader.next_instance()? {
            let imported = import_instance(self.provider(), instance, options).await?;
            if imported.is_new {
                report.imported += 1;
                report.events += imported.events;
            } else {
                report.skipped += 1;
            }
            report.without_parent += u64::from(imported.lost_parent.is_some());
            report.different += u64::from(!imported.differences.is_empty());
            observe(&imported);
        }
        Ok(report)
    }
}
