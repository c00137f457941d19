//! Texts as they are stored, damaged or not.

use rusqlite::Row;
use rusqlite::types::ValueRef;

/// The text of a column. Bytes that are no text do not fail here, where they would stop everyone
/// who shares the query, but when their own row is decoded.
pub(crate) fn stored_text(row: &Row<'_>, column: usize) -> rusqlite::Result<String> {
    Ok(match row.get_ref(column)? {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            String::from_utf8_lossy(bytes).into_owned()
        }
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => String::new(),
    })
}
