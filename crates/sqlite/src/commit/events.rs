//! Appending events.

use duroxide_core::providers::ProviderErrorKind;
use duroxide_core::providers::kit::EncodedEvent;
use rusqlite::params;

use crate::error::JobError;
use crate::schema::number::to_db;
use crate::write::writer::Tx;

/// Events of an instance to append.
pub(crate) struct NewEvents<'a> {
    pub(crate) instance: &'a str,
    pub(crate) execution_id: u64,
    pub(crate) events: &'a [EncodedEvent],
    /// Stored with the last of them: history marks name the end of a commit.
    pub(crate) commit_id: Option<u64>,
}

/// Appends events. One that is already stored fails all of them.
pub(crate) fn append(tx: &Tx<'_>, new: &NewEvents<'_>) -> Result<(), JobError> {
    let NewEvents { instance, execution_id, events, commit_id } = *new;
    let mut statement = tx.conn.prepare_cached(
        "INSERT INTO history
             (instance_id, execution_id, event_id, event_type, event_data, created_at, commit_id)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    for (index, event) in events.iter().enumerate() {
        let is_last = index + 1 == events.len();
        let appended = statement.execute(params![
            instance,
            to_db(execution_id),
            to_db(event.event_id),
            event.event_type,
            event.text,
            tx.now,
            commit_id.filter(|_| is_last).map(to_db)
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
