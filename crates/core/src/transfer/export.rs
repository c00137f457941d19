//! One instance of a store.

use std::collections::BTreeMap;
use std::io::Write;

use super::error::TransferError;
use super::hold::Hold;
use super::keys_before::{KeysSoFar, last_marker};
use super::lines::{ExportedExecution, InstanceEnd, InstanceFacts, Line};
use super::options::RunningInstances;
use super::section::Section;
use super::writer::InstanceWriter;
use crate::histories::ExecutionFacts;
use crate::model::{Event, ExecutionStatus, KvEntry};
use crate::providers::{
    CopiedEvent, CopiedExecution, CopiedKey, CopiedMessage, CopySection, InstanceHead, Provider,
    ProviderAdmin, SuspensionOrigin,
};

/// An instance that was exported.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExportedInstance {
    /// The instance.
    pub instance: String,
    /// Its parent.
    pub parent: Option<String>,
    /// It has not ended.
    pub is_running: bool,
    /// Its executions.
    pub executions: u64,
    /// Their events.
    pub events: u64,
    /// Its messages in the orchestrator queue.
    pub messages: u64,
    /// Its activities in the worker queue.
    pub activities: u64,
}

/// Writes one instance with all that the store has of it. It changes nothing; one that has not
/// ended may be held for that time. It holds one part of the instance in memory.
///
/// After an error the output may have a part of the instance, which a reader refuses.
///
/// # Errors
/// When the instance is unknown, or runs and that is refused, when the store fails or cannot export
/// instances, or the output fails.
pub async fn export_instance<W: Write>(
    store: &dyn Provider,
    instance: &str,
    running: RunningInstances,
    writer: &mut InstanceWriter<W>,
) -> Result<ExportedInstance, TransferError> {
    let admin = store.as_management_capability().ok_or(TransferError::NoManagement)?;
    let is_snapshot = match state(admin, instance).await? {
        State::Settled => false,
        State::Running => match running {
            RunningInstances::Refuse => {
                return Err(TransferError::Running { instance: instance.to_owned() });
            }
            RunningInstances::Hold => return export_held(store, admin, instance, writer).await,
            RunningInstances::Snapshot => true,
        },
    };
    Export { admin, instance, is_snapshot, hold: None }.write(writer).await
}

async fn export_held<W: Write>(
    store: &dyn Provider,
    admin: &dyn ProviderAdmin,
    instance: &str,
    writer: &mut InstanceWriter<W>,
) -> Result<ExportedInstance, TransferError> {
    let hold = Hold::take(store, admin, instance).await?;
    let export = Export { admin, instance, is_snapshot: false, hold: hold.as_ref() };
    let exported = export.write(writer).await;
    if let Some(hold) = hold {
        hold.release().await;
    }
    exported
}

/// What an export must know of an instance.
enum State {
    /// It has ended, or an operator has suspended it: it takes no turns. If that changes while it
    /// is read, so does its head.
    Settled,
    Running,
}

async fn state(admin: &dyn ProviderAdmin, instance: &str) -> Result<State, TransferError> {
    let Some(head) = read_head(admin, instance).await? else {
        // A start makes parked messages fetchable, so that one of them shows that there is none.
        return match first_message(admin, instance).await? {
            Some(message) if message.is_parked => Ok(State::Settled),
            Some(_) => Ok(State::Running),
            None => Err(TransferError::NotFound { instance: instance.to_owned() }),
        };
    };
    if has_ended(admin, instance, &head).await? {
        return Ok(State::Settled);
    }
    match head.suspension.map(|suspension| suspension.origin()) {
        Some(SuspensionOrigin::Operator) => Ok(State::Settled),
        Some(SuspensionOrigin::Replay) | None => Ok(State::Running),
    }
}

async fn first_message(
    admin: &dyn ProviderAdmin,
    instance: &str,
) -> Result<Option<CopiedMessage>, TransferError> {
    let part = Section::new(admin, instance, CopySection::Messages { after: 0 }).next().await?;
    Ok(part.and_then(|part| part.messages.into_iter().next()))
}

async fn read_head(
    admin: &dyn ProviderAdmin,
    instance: &str,
) -> Result<Option<InstanceHead>, TransferError> {
    let part = Section::new(admin, instance, CopySection::Head).next().await?;
    Ok(part.and_then(|part| part.head))
}

async fn has_ended(
    admin: &dyn ProviderAdmin,
    instance: &str,
    head: &InstanceHead,
) -> Result<bool, TransferError> {
    let after = head.current_execution_id.saturating_sub(1);
    let mut section = Section::new(admin, instance, CopySection::Executions { after });
    let current = section.next().await?.and_then(|part| part.executions.into_iter().next());
    Ok(current.is_some_and(|current| ends_instance(&current)))
}

fn ends_instance(execution: &CopiedExecution) -> bool {
    let status = ExecutionStatus::parse(&execution.status);
    matches!(status, Some(ExecutionStatus::Completed | ExecutionStatus::Failed))
}

struct Export<'a> {
    admin: &'a dyn ProviderAdmin,
    instance: &'a str,
    is_snapshot: bool,
    hold: Option<&'a Hold<'a>>,
}

impl Export<'_> {
    async fn write<W: Write>(
        &self,
        writer: &mut InstanceWriter<W>,
    ) -> Result<ExportedInstance, TransferError> {
        let head = read_head(self.admin, self.instance).await?;
        // Deleted since it was found: nothing of it is written.
        if head.is_none() && first_message(self.admin, self.instance).await?.is_none() {
            return Err(TransferError::NotFound { instance: self.instance.to_owned() });
        }
        writer.line(&Line::Instance(Box::new(InstanceFacts {
            id: self.instance.to_owned(),
            head: head.clone(),
            snapshot: self.is_snapshot,
        })))?;
        let keys = self.keys().await?;
        let is_running = self.write_executions(writer, head.as_ref(), &keys).await?;
        for key in keys {
            writer.line(&Line::Key(key))?;
        }
        self.write_rows(writer).await?;
        let end = self.check(writer, head.as_ref()).await?;
        Ok(ExportedInstance {
            instance: self.instance.to_owned(),
            parent: head.and_then(|head| head.parent_instance_id),
            is_running,
            executions: end.executions,
            events: end.events,
            messages: end.messages,
            activities: end.activities,
        })
    }

    fn section(&self, section: CopySection) -> Section<'_> {
        Section::new(self.admin, self.instance, section)
    }

    async fn keys(&self) -> Result<Vec<CopiedKey>, TransferError> {
        let part = self.section(CopySection::Keys).next().await?;
        Ok(part.map(|part| part.keys).unwrap_or_default())
    }

    /// Writes all executions; returns whether the instance runs.
    async fn write_executions<W: Write>(
        &self,
        writer: &mut InstanceWriter<W>,
        head: Option<&InstanceHead>,
        keys: &[CopiedKey],
    ) -> Result<bool, TransferError> {
        let mut is_running = true;
        let mut so_far = KeysSoFar::default();
        let mut executions = self.section(CopySection::Executions { after: 0 });
        while let Some(part) = executions.next().await? {
            for execution in part.executions {
                is_running = !ends_instance(&execution);
                let is_current =
                    head.is_some_and(|it| it.current_execution_id == execution.execution_id);
                // The keys of a running execution are apart from those that it started with.
                let known = (is_current && execution.completed_at_ms.is_none()).then_some(keys);
                self.write_execution(writer, execution, &mut so_far, known).await?;
            }
        }
        Ok(is_running)
    }

    async fn write_execution<W: Write>(
        &self,
        writer: &mut InstanceWriter<W>,
        execution: CopiedExecution,
        so_far: &mut KeysSoFar,
        known: Option<&[CopiedKey]>,
    ) -> Result<(), TransferError> {
        let (execution_id, events) = (execution.execution_id, execution.events);
        let section = || self.section(CopySection::Events { execution_id, after: 0 });
        let mut parts = section();
        let mut part = self.events(&mut parts).await?;
        let is_whole = part.len() as u64 >= events;
        let mut marker = last_marker(&part);
        if !is_whole && known.is_none() {
            // The marker stands anywhere among the events, and the line of the execution is first.
            while let Some(more) = parts.next().await? {
                marker = last_marker(&more.events).or(marker);
            }
            parts = section();
            part = self.events(&mut parts).await?;
        }
        let kv = self.keys_before(so_far, marker.as_ref(), known);
        let facts = ExecutionFacts {
            instance: self.instance.to_owned(),
            execution_id,
            kv,
            events: usize::try_from(events).unwrap_or(usize::MAX),
        };
        let state = execution;
        writer.line(&Line::Execution(Box::new(ExportedExecution { facts, state })))?;
        let mut written = 0;
        while !part.is_empty() {
            written += part.len() as u64;
            so_far.apply(&part);
            part.iter().try_for_each(|event| writer.event(event))?;
            part = if written < events { self.events(&mut parts).await? } else { Vec::new() };
        }
        so_far.end();
        match written == events {
            true => Ok(()),
            false => Err(self.changed()),
        }
    }

    fn keys_before(
        &self,
        so_far: &mut KeysSoFar,
        marker: Option<&Event>,
        known: Option<&[CopiedKey]>,
    ) -> BTreeMap<String, KvEntry> {
        let before = so_far.begin(marker);
        let Some(known) = known else { return before };
        let left = known.iter().filter(|key| !key.is_current);
        let entry = |key: &CopiedKey| {
            let value = key.value.clone()?;
            let last_updated_at_ms = key.updated_at_ms;
            Some((key.key.clone(), KvEntry { value, last_updated_at_ms }))
        };
        left.filter_map(entry).collect()
    }

    async fn events(&self, parts: &mut Section<'_>) -> Result<Vec<CopiedEvent>, TransferError> {
        if let Some(hold) = self.hold {
            hold.renew().await.map_err(|_| self.changed())?;
        }
        Ok(parts.next().await?.map(|part| part.events).unwrap_or_default())
    }

    /// Activities come before messages: one that completes in between is in both, and its second
    /// result has no effect.
    async fn write_rows<W: Write>(
        &self,
        writer: &mut InstanceWriter<W>,
    ) -> Result<(), TransferError> {
        for section in [
            CopySection::MessageIds { after: None },
            CopySection::Activities { after: 0 },
            CopySection::Messages { after: 0 },
        ] {
            let mut section = self.section(section);
            while let Some(part) = section.next().await? {
                for id in part.message_ids {
                    writer.line(&Line::MessageId(id))?;
                }
                for activity in part.activities {
                    writer.line(&Line::Activity(Box::new(activity)))?;
                }
                for message in part.messages {
                    writer.line(&Line::Message(message))?;
                }
            }
        }
        Ok(())
    }

    /// Writes the last line, if the instance is what it was at the first.
    async fn check<W: Write>(
        &self,
        writer: &mut InstanceWriter<W>,
        head: Option<&InstanceHead>,
    ) -> Result<InstanceEnd, TransferError> {
        if let Some(hold) = self.hold {
            hold.renew().await.map_err(|_| self.changed())?;
        }
        if !self.is_snapshot && read_head(self.admin, self.instance).await?.as_ref() != head {
            return Err(self.changed());
        }
        Ok(writer.end()?)
    }

    fn changed(&self) -> TransferError {
        TransferError::Changed { instance: self.instance.to_owned() }
    }
}
