//! One instance of a file, into a store.

use super::compare::{InstanceDifference, differences};
use super::error::TransferError;
use super::options::ImportOptions;
use super::reader::ReadInstance;
use super::section::read_all;
use crate::model::ExecutionStatus;
use crate::providers::{
    InstanceCopy, Provider, ProviderAdmin, ProviderErrorKind, SuspensionOrigin,
};

/// What became of an instance of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImportedInstance {
    /// The instance.
    pub instance: String,
    /// It is stored now; otherwise it existed and was left alone.
    pub is_new: bool,
    /// Its events.
    pub events: u64,
    /// The parent that it lost, because the store does not have it.
    pub lost_parent: Option<String>,
    /// What reading it back has shown, if that was asked for. Empty if the store has what the file
    /// has.
    pub differences: Vec<InstanceDifference>,
}

/// Stores an instance of a file in one transaction. After an error nothing of it is stored.
///
/// # Errors
/// When the instance exists and is not skipped, or was read while it ran, or when the store fails
/// or cannot import instances.
pub async fn import_instance(
    store: &dyn Provider,
    instance: ReadInstance,
    options: ImportOptions,
) -> Result<ImportedInstance, TransferError> {
    let admin = store.as_management_capability().ok_or(TransferError::NoManagement)?;
    let ReadInstance { mut copy, is_snapshot, place, line } = instance;
    if is_snapshot && !has_ended(&copy) {
        return Err(TransferError::Snapshot { instance: copy.instance, place, line });
    }
    if options.resume {
        lift_suspension(&mut copy);
    }
    let mut imported = ImportedInstance {
        instance: copy.instance.clone(),
        is_new: true,
        events: copy.events.len() as u64,
        ..ImportedInstance::default()
    };
    let kept = options.verify.then(|| copy.clone());
    let parent = copy.head.as_ref().and_then(|head| head.parent_instance_id.clone());
    match admin.import_instance(copy).await {
        Ok(()) => {}
        Err(error) if error.kind == ProviderErrorKind::Conflict && options.skip_existing => {
            imported.is_new = false;
        }
        Err(error) if error.kind == ProviderErrorKind::Conflict => {
            return Err(TransferError::Exists { instance: imported.instance, place, line });
        }
        Err(source) => {
            let instance = imported.instance;
            let source = Box::new(source);
            return Err(TransferError::NotStored { instance, place, line, source });
        }
    }
    if let Some(parent) = parent
        && lacks_parent(admin, &imported.instance).await?
    {
        imported.lost_parent = Some(parent);
    }
    if let Some(mut expected) = kept {
        if let (Some(head), Some(_)) = (expected.head.as_mut(), &imported.lost_parent) {
            head.parent_instance_id = None;
        }
        let stored = read_all(admin, &imported.instance).await?;
        imported.differences = differences(&expected, &stored);
    }
    Ok(imported)
}

async fn lacks_parent(admin: &dyn ProviderAdmin, instance: &str) -> Result<bool, TransferError> {
    match admin.get_parent_id(instance).await {
        Ok(parent) => Ok(parent.is_none()),
        // Deleted meanwhile.
        Err(error) if error.kind == ProviderErrorKind::NotFound => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn has_ended(copy: &InstanceCopy) -> bool {
    let status = copy.executions.last().and_then(|it| ExecutionStatus::parse(&it.status));
    matches!(status, Some(ExecutionStatus::Completed | ExecutionStatus::Failed))
}

fn lift_suspension(copy: &mut InstanceCopy) {
    let Some(head) = copy.head.as_mut() else { return };
    let is_operators = |origin| origin == SuspensionOrigin::Operator;
    if head.suspension.as_ref().is_some_and(|suspension| is_operators(suspension.origin())) {
        head.suspension = None;
    }
}
