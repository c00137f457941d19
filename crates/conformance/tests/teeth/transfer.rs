//! Faults of instances that are carried between stores.

use duroxide_core::providers::{
    CopySection, InstanceCopy, InstanceCopyQuery, ProviderAdmin, ProviderError, ProviderErrorKind,
};

use crate::fault::Fault;
use crate::provider::FaultyProvider;

impl FaultyProvider {
    /// Reads a section with the fault.
    pub(crate) async fn faulty_copy(
        &self,
        query: InstanceCopyQuery,
    ) -> Result<InstanceCopy, ProviderError> {
        let is_second_page = matches!(query.section, CopySection::Messages { after } if after > 0);
        if is_second_page && self.has(Fault::CopiedPageCut) {
            return Ok(InstanceCopy::new(query.instance));
        }
        let mut copy = self.inner.read_instance_copy(query).await?;
        if self.has(Fault::CopiedAttemptsLost) {
            copy.activities.iter_mut().for_each(|activity| activity.attempts = 0);
        }
        Ok(copy)
    }

    /// Imports an instance with the fault.
    pub(crate) async fn faulty_import(&self, mut copy: InstanceCopy) -> Result<(), ProviderError> {
        if self.has(Fault::ImportedKeysLost) {
            copy.keys.clear();
        }
        if self.has(Fault::ImportedMessagesReversed) {
            copy.messages.reverse();
        }
        if self.has(Fault::ImportedActivitiesLost) {
            copy.activities.clear();
        }
        if let Some(head) = &mut copy.head {
            if self.has(Fault::ImportedResumed) {
                head.suspension = None;
            }
            if self.has(Fault::ImportedOrphan) {
                head.parent_instance_id = None;
            }
        }
        let imported = self.inner.import_instance(copy.clone()).await;
        match imported {
            Err(error) if error.kind == ProviderErrorKind::Conflict => {
                if !self.has(Fault::ImportedExisting) {
                    return Err(error);
                }
                Ok(())
            }
            Err(error) if self.has(Fault::ImportedPartly) => {
                copy.events.dedup();
                self.inner.import_instance(copy).await?;
                Err(error)
            }
            outcome => outcome,
        }
    }
}
