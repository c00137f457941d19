//! Sections of an instance, read part by part.

use crate::limits::COPY_PARTS_MAX;
use crate::providers::{
    CopySection, InstanceCopy, InstanceCopyQuery, ProviderAdmin, ProviderError,
};

/// Reads one section, part by part.
pub(super) struct Section<'a> {
    admin: &'a dyn ProviderAdmin,
    instance: &'a str,
    next: Option<CopySection>,
    parts: u64,
}

impl<'a> Section<'a> {
    pub(super) fn new(
        admin: &'a dyn ProviderAdmin,
        instance: &'a str,
        section: CopySection,
    ) -> Self {
        Self { admin, instance, next: Some(section), parts: 0 }
    }

    /// The next part; `None` if there are no more.
    pub(super) async fn next(&mut self) -> Result<Option<InstanceCopy>, ProviderError> {
        let Some(section) = self.next.take() else { return Ok(None) };
        self.parts += 1;
        if self.parts > COPY_PARTS_MAX {
            return Err(endless(self.instance));
        }
        let query = InstanceCopyQuery::new(self.instance, section.clone());
        let part = self.admin.read_instance_copy(query).await?;
        self.next = behind(section.clone(), &part);
        if self.next.as_ref() == Some(&section) {
            // A damaged row that sorts behind every number would be read again and again.
            return Err(endless(self.instance));
        }
        // The end of a section that is read in parts is an empty one.
        Ok(Some(part).filter(|part| !part.is_empty()))
    }
}

fn endless(instance: &str) -> ProviderError {
    let text = format!("a section of instance '{instance}' does not end");
    ProviderError::permanent("read_instance_copy", text)
}

/// What follows a part.
fn behind(section: CopySection, part: &InstanceCopy) -> Option<CopySection> {
    match section {
        CopySection::Head | CopySection::Keys => None,
        CopySection::Executions { .. } => {
            part.executions.last().map(|it| CopySection::Executions { after: it.execution_id })
        }
        CopySection::Events { execution_id, .. } => {
            part.events.last().map(|it| CopySection::Events { execution_id, after: it.event_id })
        }
        CopySection::MessageIds { .. } => {
            let last = part.message_ids.last();
            last.map(|it| CopySection::MessageIds { after: Some(it.id.clone()) })
        }
        CopySection::Activities { .. } => {
            part.activities.last().map(|it| CopySection::Activities { after: it.place })
        }
        CopySection::Messages { .. } => {
            part.messages.last().map(|it| CopySection::Messages { after: it.place })
        }
    }
}

/// All of an instance. Activities come before messages: one that completes in between is in both.
pub(super) async fn read_all(
    admin: &dyn ProviderAdmin,
    instance: &str,
) -> Result<InstanceCopy, ProviderError> {
    let mut copy = InstanceCopy::new(instance);
    for section in [
        CopySection::Head,
        CopySection::Executions { after: 0 },
        CopySection::Keys,
        CopySection::MessageIds { after: None },
        CopySection::Activities { after: 0 },
        CopySection::Messages { after: 0 },
    ] {
        read_into(&mut copy, Section::new(admin, instance, section)).await?;
    }
    let executions: Vec<u64> = copy.executions.iter().map(|it| it.execution_id).collect();
    for execution_id in executions {
        let section = CopySection::Events { execution_id, after: 0 };
        read_into(&mut copy, Section::new(admin, instance, section)).await?;
    }
    Ok(copy)
}

async fn read_into(copy: &mut InstanceCopy, mut section: Section<'_>) -> Result<(), ProviderError> {
    while let Some(part) = section.next().await? {
        copy.add(part);
    }
    Ok(())
}
