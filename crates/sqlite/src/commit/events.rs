//! Encoding and appending events.

use duroxide_core::Event;
use duroxide_core::providers::ProviderErrorKind;
use rusqlite::params;

use crate::error::JobError;
use crate::schema::number::to_db;
use crate::write::writer::Tx;

/// An event in its stored form.
#[derive(Debug)]
pub(crate) struct NewEvent {
    event_id: u64,
    event_type: &'static str,
    text: String,
}

impl NewEvent {
    /// Encodes an event; refuses one without a position.
    pub(crate) fn encode(event: &Event) -> Result<Self, JobError> {
        if event.event_id == 0 {
            return Err(JobError::refused(
                ProviderErrorKind::Other,
                "Failed to append history: event_id 0 means that the runtime did not number \
                 the event",
            ));
        }
        Ok(Self {
            event_id: event.event_id,
            event_type: event.kind.type_tag(),
            text: serde_json::to_string(event)?,
        })
    }

    /// Encodes all events.
    pub(crate) fn encode_all(events: &[Event]) -> Result<Vec<Self>, JobError> {
        events.iter().map(Self::encode).collect()
    }
}

/// Appends events. One that is already stored fails all of them.
pub(crate) fn append(
    tx: &Tx<'_>,
    instance: &str,
    execution_id: u64,
    events: &[NewEvent],
) -> Result<(), JobError> {
    let mut statement = tx.conn.prepare_cached(
        "INSERT INTO history
             (instance_id, execution_id, event_id, event_type, event_data, created_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for event in events {
        let appended = statement.execute(params![
            instance,
            to_db(execution_id),
            to_db(event.event_id),
            event.event_type,
            event.text,
            tx.now
        ]);
        match appended {
            Ok(_) => {}
            Err(error) if is_constraint(&error) => {
                return Err(JobError::refused(
                    ProviderErrorKind::Conflict,
                    format!(
                        "Failed to append history: event {} of execution {execution_id} is already \
                     stored ({error})",
                        event.event_id
                    ),
                ));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn is_constraint(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation)
}

#[cfg(test)]
mod tests {
    use duroxide_core::EventKind;

    use super::*;

    #[test]
    fn an_event_without_a_position_is_refused() {
        let event = Event::new("i", 1, None, EventKind::KeyValuesCleared);
        let error = NewEvent::encode(&event).unwrap_err().during("ack");
        assert!(!error.is_retryable());
        assert!(error.message.contains("Failed to append history"), "{error}");
    }
}
