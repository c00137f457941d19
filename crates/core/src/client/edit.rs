//! Edits of the custom status and of keys by an operator.

use std::fmt;

use serde::Serialize;

use super::{Client, ClientError};
use crate::model::edit::EDIT_MESSAGE;
use crate::model::{InstanceEdit, WorkItem};
use crate::providers::{
    ClientMessage, Delivery, InstanceOutcome, ProviderError, ProviderErrorKind,
};

/// What an edit changes, as far as the state is known when it is sent.
///
/// Its text has one line for each change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct EditPlan {
    /// The instance.
    pub instance: String,
    /// The custom status first, then the keys in order.
    pub changes: Vec<StateChange>,
    /// The instance is suspended: the edit waits until it is resumed.
    pub is_suspended: bool,
}

/// One value before and after an edit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct StateChange {
    /// The key; `None` for the custom status.
    pub key: Option<String>,
    /// The stored value.
    pub before: Option<String>,
    /// The new value; `None` removes it.
    pub after: Option<String>,
}

impl Client {
    /// Changes the custom status and keys of a running instance for an operator. Returns what the
    /// edit changes.
    ///
    /// - The edit is a message: the next turn of the instance records who changed what and why, and
    ///   then the changes. Its code reads the new values from then on, in every replay, too. It is
    ///   not woken by them.
    /// - A suspended instance applies it when it is resumed; an instance without a node that runs
    ///   it, when there is one.
    /// - All nodes that run the instance need this release or a later one.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// # use duroxide::{Client, ClientError};
    /// use duroxide::InstanceEdit;
    ///
    /// # async fn example(client: &Client) -> Result<(), ClientError> {
    /// let edit = InstanceEdit::default().with_key("price", "12").by("mara", "wrong price list");
    /// // key price: "10" → "12"
    /// println!("{}", client.plan_edit("order-7", &edit).await?);
    /// client.edit_instance("order-7", &edit).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`InstanceNotFound`](ClientError::InstanceNotFound) for an unknown instance, an error of the
    /// kind [`Conflict`](ProviderErrorKind::Conflict) for one that has ended, and
    /// [`InvalidInput`](ClientError::InvalidInput) for an edit that would break a limit.
    pub async fn edit_instance(
        &self,
        instance: &str,
        edit: &InstanceEdit,
    ) -> Result<EditPlan, ClientError> {
        let plan = self.plan_edit(instance, edit).await?;
        let message = ClientMessage::new(WorkItem::QueueMessage {
            instance: instance.to_owned(),
            name: EDIT_MESSAGE.to_owned(),
            data: edit.to_data(),
        });
        match self.provider().send_message(message.to_existing()).await? {
            Delivery::NotFound => {
                Err(ClientError::InstanceNotFound { instance_id: instance.to_owned() })
            }
            Delivery::Enqueued | Delivery::Repeated | Delivery::Existing => Ok(plan),
        }
    }

    /// What [`edit_instance`](Self::edit_instance) would change. It changes nothing.
    ///
    /// # Errors
    /// Those of the act itself.
    pub async fn plan_edit(
        &self,
        instance: &str,
        edit: &InstanceEdit,
    ) -> Result<EditPlan, ClientError> {
        let status = self.provider().read_status(instance).await?;
        match status.outcome {
            InstanceOutcome::NotFound => {
                return Err(ClientError::InstanceNotFound { instance_id: instance.to_owned() });
            }
            InstanceOutcome::Ended(_) => {
                let text = format!(
                    "instance {instance} has ended; its state changes only if it runs again: \
                     retry or reset it first"
                );
                let error = ProviderError::permanent("edit_instance", text);
                return Err(error.with_kind(ProviderErrorKind::Conflict).into());
            }
            InstanceOutcome::Running => {}
        }
        let stored = match edit.keys.is_empty() {
            true => std::collections::HashMap::new(),
            false => self.get_kv_all_values(instance).await?,
        };
        if let Some(message) = edit.refusal(|key| stored.contains_key(key), stored.len()) {
            return Err(ClientError::InvalidInput { message });
        }
        let of_status = edit.custom_status.iter().map(|after| StateChange {
            key: None,
            before: status.custom_status.clone(),
            after: after.clone(),
        });
        let of_keys = edit.keys.iter().map(|(key, after)| StateChange {
            key: Some(key.clone()),
            before: stored.get(key).cloned(),
            after: after.clone(),
        });
        let is_suspended = match self.admin() {
            Ok(admin) => admin.read_suspension(instance).await?.is_some(),
            Err(_without_suspensions) => false,
        };
        Ok(EditPlan {
            instance: instance.to_owned(),
            changes: of_status.chain(of_keys).collect(),
            is_suspended,
        })
    }
}

impl fmt::Display for EditPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}:", self.instance)?;
        for StateChange { key, before, after } in &self.changes {
            match key {
                Some(key) => write!(f, "  key {key}: ")?,
                None => write!(f, "  custom status: ")?,
            }
            writeln!(f, "{} → {}", shown(before.as_ref()), shown(after.as_ref()))?;
        }
        if self.is_suspended {
            writeln!(f, "  note: the instance is suspended; the edit waits until it is resumed")?;
        }
        Ok(())
    }
}

fn shown(value: Option<&String>) -> String {
    value.map_or_else(|| "none".to_owned(), |value| format!("{value:?}"))
}
