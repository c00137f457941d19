//! Columns as they are stored, damaged or not.

use rusqlite::Row;
use rusqlite::types::ValueRef;

/// The text of a column. Bytes that are not text do not fail here, where they would fail every row
/// of the query, but when their own row is decoded.
pub(crate) fn stored_text(row: &Row<'_>, column: usize) -> rusqlite::Result<String> {
    Ok(match row.get_ref(column)? {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            String::from_utf8_lossy(bytes).into_owned()
        }
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => String::new(),
    })
}

/// The id in a column; `None` if it holds none, or something that is not text.
pub(crate) fn stored_id(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<String>> {
    Ok(row.get_ref(column)?.as_str().ok().map(str::to_owned))
}

/// The integer in a column; `None` if it holds anything else.
pub(crate) fn stored_integer(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<i64>> {
    Ok(row.get_ref(column)?.as_i64().ok())
}

/// An attempt count. One that makes no sense counts as too many, so that its row fails.
pub(crate) fn stored_attempts(row: &Row<'_>, column: usize) -> rusqlite::Result<u32> {
    let attempts = stored_integer(row, column)?;
    Ok(attempts.and_then(|attempts| u32::try_from(attempts).ok()).unwrap_or(u32::MAX))
}
