//! Carries an instance out of the store and into it again.

use duroxide_core::providers::{CopySection, InstanceCopy, InstanceCopyQuery, ProviderError};

use crate::apply::{HOLD, Side};
use crate::as_text::text;

impl Side {
    /// Copies an instance, deletes it, and imports the copy. The text has all of the copy.
    pub(crate) async fn move_instance(&self, instance: &str) -> String {
        // The attempt of a turn that a caller holds is undone, so that it is not counted.
        let held = self.admin().hold_instance(instance, HOLD).await;
        let copy = match self.copy(instance).await {
            Ok(copy) => copy,
            Err(error) => return text::<()>(Err(error)),
        };
        if let Ok(held) = held {
            let released = self.provider.abandon_orchestration_item(&held.lock_token, None, true);
            assert!(released.await.is_ok(), "the hold is live");
        }
        let deleted = self.admin().delete_instances_atomic(&[instance.to_owned()], true).await;
        let known = deleted.as_ref().is_ok_and(|deleted| deleted.instances_deleted > 0);
        let imported = self.admin().import_instance(copy.clone()).await;
        let imported = text(imported);
        let imported = imported.split_once(": ").map_or(imported.as_str(), |(class, _)| class);
        format!("{copy:?} {known} {imported}")
    }

    async fn copy(&self, instance: &str) -> Result<InstanceCopy, ProviderError> {
        let mut copy = InstanceCopy::new(instance);
        let mut sections = vec![
            CopySection::Messages { after: 0 },
            CopySection::Activities { after: 0 },
            CopySection::MessageIds { after: None },
            CopySection::Keys,
            CopySection::Executions { after: 0 },
            CopySection::Head,
        ];
        while let Some(section) = sections.pop() {
            let query = InstanceCopyQuery::new(instance, section.clone());
            let part = self.admin().read_instance_copy(query).await?;
            sections.extend(
                part.executions
                    .iter()
                    .rev()
                    .map(|it| CopySection::Events { execution_id: it.execution_id, after: 0 }),
            );
            sections.extend(behind(section, &part));
            copy.add(part);
        }
        // Each provider has places of its own.
        copy.activities.iter_mut().for_each(|it| it.place = 0);
        copy.messages.iter_mut().for_each(|it| it.place = 0);
        copy.events.sort_by_key(|it| (it.execution_id, it.event_id));
        Ok(copy)
    }
}

/// What follows a part.
fn behind(section: CopySection, part: &InstanceCopy) -> Option<CopySection> {
    let activity = part.activities.last();
    let message = part.messages.last();
    let event = part.events.last();
    let id = part.message_ids.last();
    let execution = part.executions.last();
    activity
        .map(|it| CopySection::Activities { after: it.place })
        .or_else(|| message.map(|it| CopySection::Messages { after: it.place }))
        .or_else(|| id.map(|it| CopySection::MessageIds { after: Some(it.id.clone()) }))
        .or_else(|| execution.map(|it| CopySection::Executions { after: it.execution_id }))
        .or_else(|| {
            let (execution_id, after) = event.map(|it| (it.execution_id, it.event_id))?;
            matches!(section, CopySection::Events { .. })
                .then_some(CopySection::Events { execution_id, after })
        })
}
