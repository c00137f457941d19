//! The lines of a file that histories alone do not have. Add, never rename.

use serde::{Deserialize, Serialize};

use crate::histories::ExecutionFacts;
use crate::providers::{
    CopiedActivity, CopiedExecution, CopiedKey, CopiedMessage, CopiedMessageId, InstanceHead,
};

/// Any line but the first and those of events. Its name is a key of the line.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line {
    /// The first line of an instance.
    Instance(Box<InstanceFacts>),
    /// The line in front of the events of an execution.
    Execution(Box<ExportedExecution>),
    Key(CopiedKey),
    MessageId(CopiedMessageId),
    Activity(Box<CopiedActivity>),
    Message(CopiedMessage),
    /// The last line of an instance.
    InstanceEnd(InstanceEnd),
}

impl Line {
    /// Reads a line; `None` if it has none of the keys. Other keys beside them are ignored.
    pub(super) fn parse(text: &str) -> Result<Option<Self>, serde_json::Error> {
        let keys: LineKeys = serde_json::from_str(text)?;
        Ok(keys
            .instance
            .map(Self::Instance)
            .or_else(|| keys.execution.map(Self::Execution))
            .or_else(|| keys.key.map(Self::Key))
            .or_else(|| keys.message_id.map(Self::MessageId))
            .or_else(|| keys.activity.map(Self::Activity))
            .or_else(|| keys.message.map(Self::Message))
            .or_else(|| keys.instance_end.map(Self::InstanceEnd)))
    }
}

/// The keys of lines, of which each line has one.
#[derive(Deserialize)]
struct LineKeys {
    instance: Option<Box<InstanceFacts>>,
    execution: Option<Box<ExportedExecution>>,
    key: Option<CopiedKey>,
    message_id: Option<CopiedMessageId>,
    activity: Option<Box<CopiedActivity>>,
    message: Option<CopiedMessage>,
    instance_end: Option<InstanceEnd>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct InstanceFacts {
    pub(super) id: String,
    /// Missing if the instance is not stored, and only messages wait for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) head: Option<InstanceHead>,
    /// It was read while it ran.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) snapshot: bool,
}

/// The line of an execution in a file of instances.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ExportedExecution {
    #[serde(flatten)]
    pub(super) facts: ExecutionFacts,
    pub(super) state: CopiedExecution,
}

/// How many lines of each kind the instance has, so that a missing line is noticed.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct InstanceEnd {
    pub(super) id: String,
    pub(super) executions: u64,
    pub(super) events: u64,
    pub(super) keys: u64,
    pub(super) message_ids: u64,
    pub(super) activities: u64,
    pub(super) messages: u64,
}
